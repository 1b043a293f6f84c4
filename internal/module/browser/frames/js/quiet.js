async function (still) {
  // Waits until the document has not changed for a while.
  await new Promise(done => {
    let timer = setTimeout(done, still);
    const watch = new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(() => { watch.disconnect(); done(); }, still); });
    watch.observe(document, {subtree: true, childList: true, characterData: true, attributes: true});
  });
  return true;
}
