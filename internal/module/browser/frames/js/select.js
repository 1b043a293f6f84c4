function (wanted) {
  // Chooses options by their value or their name, exactly or apart from case. Returns what
  // is chosen, or what there is to choose from.
  if (this.localName !== 'select') throw new Error('not a select');
  const options = [...this.options];
  const name = o => (o.label || o.textContent).trim().replace(/\s+/g, ' ');
  const same = (a, b) => a.toLowerCase() === b.trim().replace(/\s+/g, ' ').toLowerCase();
  const chosen = [];
  for (const w of wanted) {
    const o = options.find(o => o.value === w) || options.find(o => name(o) === w) || options.find(o => same(name(o), w) || same(o.value, w));
    if (!o) return {missing: w, offered: options.slice(0, 50).map(name)};
    if (o.disabled || o.closest('optgroup:disabled')) return {disabled: name(o)};
    chosen.push(o);
  }
  if (!this.multiple && chosen.length > 1) return {single: true};
  if (this.multiple) for (const o of options) o.selected = chosen.includes(o);
  else if (chosen.length) chosen[0].selected = true;
  this.dispatchEvent(new Event('input', {bubbles: true, composed: true}));
  this.dispatchEvent(new Event('change', {bubbles: true}));
  return {chosen: [...this.selectedOptions].map(name)};
}
