function (all) {
  // Puts the caret into the element: over everything in it, or at its end.
  this.focus({preventScroll: true});
  if (typeof this.select === 'function' && 'value' in this) {
    if (all) this.select();
    else try { this.setSelectionRange(this.value.length, this.value.length); } catch { /* a kind without a caret */ }
    return;
  }
  const range = document.createRange();
  range.selectNodeContents(this);
  if (!all) range.collapse(false);
  const selection = getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
}
