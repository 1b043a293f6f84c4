function () {
  // The element that a node is or stands in.
  let node = this;
  while (node && node.nodeType !== 1) node = node.parentNode || node.host;
  return node;
}
