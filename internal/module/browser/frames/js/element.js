function () {
  // The node itself if it is an element, or else the element around it.
  let node = this;
  while (node && node.nodeType !== 1) node = node.parentNode || node.host;
  return node;
}
