async function () {
  // Returns after the tasks that the page has already queued.
  await new Promise(done => setTimeout(done));
  return true;
}
