async function (quietTime) {
  // Waits until the document has not changed for a time.
  await new Promise(done => {
    let timer = setTimeout(done, quietTime);
    const watch = new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(() => { watch.disconnect(); done(); }, quietTime); });
    watch.observe(document, {subtree: true, childList: true, characterData: true, attributes: true});
  });
  return true;
}
