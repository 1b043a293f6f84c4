function () {
  // The properties of the element: for the text of a result, and for how to type into it.
  const el = this, name = el.localName;
  const type = name === 'input' ? el.type : '';
  const label = el.getAttribute('aria-label') || el.labels && el.labels[0] && el.labels[0].innerText || el.innerText || el.placeholder || el.alt || el.title || el.name || el.id || '';
  return {
    tag: name, type,
    label: String(label).trim().replace(/\s+/g, ' ').slice(0, 80),
    editable: el.isContentEditable,
    readonly: Boolean(el.readOnly),
    value: type === 'password' || type === 'file' ? '' : 'value' in el ? String(el.value) : el.isContentEditable ? el.innerText : '',
    filled: Boolean('value' in el ? el.value : el.isContentEditable && el.textContent),
  };
}
