function (text, selector) {
  // Whether the document shows a text, or an element that a selector matches.
  if (text) {
    const flat = s => s.toLowerCase().replace(/\s+/g, ' ');
    return Boolean(document.body) && flat(document.body.innerText).includes(flat(text));
  }
  try {
    for (const el of document.querySelectorAll(selector)) {
      if (el.getClientRects().length > 0 && getComputedStyle(el).visibility === 'visible') return true;
    }
  } catch {
    throw new Error('bad selector');
  }
  return false;
}
