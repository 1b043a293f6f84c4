function () {
  // The status of the response, and the text of a page short enough to be a proxy's
  // error.
  const entry = performance.getEntriesByType('navigation')[0];
  const body = document.body;
  const text = body && body.childElementCount <= 1 ? body.textContent.trim().slice(0, 200) : '';
  return {status: entry && entry.responseStatus || 0, text};
}
