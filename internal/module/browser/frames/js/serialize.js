function (limit) {
  // What a reader sees of the document, as plain HTML: without scripts and hidden elements,
  // with absolute addresses, the values of form fields, and the content of open shadow trees.
  const out = [];
  let size = 0, cut = false;
  const put = s => { size += s.length; out.push(s); };
  const escape = s => s.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
  const skipped = new Set(['script', 'style', 'noscript', 'template', 'link', 'meta', 'head', 'svg', 'math', 'canvas', 'object', 'embed', 'iframe', 'frame', 'audio', 'video', 'map', 'datalist', 'source', 'track', 'base', 'title']);
  const plain = new Set(['a', 'abbr', 'article', 'aside', 'b', 'blockquote', 'body', 'br', 'caption', 'cite', 'code', 'dd', 'del', 'details', 'div', 'dl', 'dt', 'em', 'fieldset', 'figcaption', 'figure', 'footer', 'form', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'header', 'hr', 'i', 'img', 'ins', 'kbd', 'label', 'legend', 'li', 'main', 'mark', 'menu', 'nav', 'ol', 'p', 'pre', 'q', 's', 'samp', 'section', 'small', 'span', 'strong', 'sub', 'summary', 'sup', 'table', 'tbody', 'td', 'tfoot', 'th', 'thead', 'time', 'tr', 'u', 'ul', 'var']);
  const empty = new Set(['br', 'hr', 'img']);
  const whole = (base, address) => {
    try {
      const u = new URL(address, base);
      return /^(https?|mailto|tel):$/.test(u.protocol) ? u.href : '';
    } catch { return ''; }
  };
  const field = el => {
    const type = (el.type || '').toLowerCase();
    switch (el.localName) {
    case 'input':
      if (type === 'hidden') return '';
      if (type === 'checkbox' || type === 'radio') return el.checked ? '[x] ' : '[ ] ';
      if (type === 'submit' || type === 'button' || type === 'reset') return '[' + (el.value || type) + '] ';
      if (type === 'password') return el.value ? '[••••] ' : '[' + (el.placeholder || 'password') + '] ';
      if (type === 'image') return '[' + (el.alt || 'button') + '] ';
      return '[' + (el.value || el.placeholder || '          ').slice(0, 500) + '] ';
    case 'textarea':
      return '[' + (el.value || el.placeholder || '          ').slice(0, 2000) + '] ';
    case 'select':
      return '[' + [...el.selectedOptions].map(o => o.label).join(', ') + '] ';
    }
    return null;
  };
  const attributes = el => {
    let s = '';
    const add = (name, value) => { if (value) s += ' ' + name + '="' + escape(String(value)) + '"'; };
    switch (el.localName) {
    case 'a': add('href', el.hasAttribute('href') ? whole(el.baseURI, el.getAttribute('href')) : ''); break;
    case 'img': add('src', whole(el.baseURI, el.currentSrc || el.getAttribute('src') || '')); add('alt', el.alt); break;
    case 'td': case 'th': add('colspan', el.getAttribute('colspan')); add('rowspan', el.getAttribute('rowspan')); break;
    case 'ol': add('start', el.getAttribute('start')); break;
    case 'code': case 'pre': add('class', (el.getAttribute('class') || '').match(/\b(?:lang|language)-[\w+#-]+/)?.[0]); break;
    }
    return s;
  };
  const inside = (el, depth, shown) => {
    if (el.shadowRoot) return children(el.shadowRoot, depth, shown);
    if (el.localName === 'slot') {
      const given = el.assignedNodes();
      if (given.length) { for (const n of given) walk(n, depth, shown); return; }
    }
    children(el, depth, shown);
  };
  const children = (node, depth, shown) => {
    for (let c = node.firstChild; c && !cut; c = c.nextSibling) walk(c, depth, shown);
  };
  const walk = (node, depth, shown) => {
    if (size > limit || depth > 400) { cut = true; return; }
    if (node.nodeType === 3) { if (shown) put(escape(node.data)); return; }
    if (node.nodeType !== 1) return;
    const name = node.localName;
    if (skipped.has(name)) return;
    const style = getComputedStyle(node);
    if (style.display === 'none' || style.contentVisibility === 'hidden') return;
    shown = style.visibility === 'visible';
    const held = field(node);
    if (held !== null) { if (shown) put('<span>' + escape(held) + '</span>'); return; }
    if (name === 'img' && (!shown || !node.alt && node.width * node.height < 1000)) return;
    let tag = name;
    if (!plain.has(name) || name === 'span' && style.display === 'block') tag = /^(inline|contents)/.test(style.display) ? 'span' : 'div';
    put('<' + tag + attributes(node) + '>');
    if (empty.has(tag)) return;
    if (name === 'details' && !node.open) {
      const summary = node.querySelector(':scope > summary');
      if (summary) walk(summary, depth + 1, shown);
    } else {
      inside(node, depth + 1, shown);
    }
    put('</' + tag + '>');
  };
  if (document.body) walk(document.body, 0, true);
  return {html: out.join(''), title: document.title, cut, empty: !document.body || !document.body.innerText.trim()};
}
