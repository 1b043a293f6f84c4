function (selector, nth) {
  // The nth of the elements that a selector matches, also in open shadow trees, the
  // visible ones first. With nth < 0, their number.
  const found = [];
  const look = root => {
    found.push(...root.querySelectorAll(selector));
    for (const el of root.querySelectorAll('*')) if (el.shadowRoot && found.length < 1000) look(el.shadowRoot);
  };
  try {
    document.querySelector(selector);
  } catch {
    throw new Error('bad selector');
  }
  look(document);
  if (nth < 0) return found.length;
  const seen = el => el.getClientRects().length > 0 && getComputedStyle(el).visibility === 'visible';
  const order = [...found.filter(seen), ...found.filter(el => !seen(el))];
  return order[nth] || null;
}
