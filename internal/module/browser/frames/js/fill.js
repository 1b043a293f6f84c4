function (value) {
  // Sets a field that is not typed into: a date, a colour, a slider.
  this.focus();
  this.value = value;
  if (this.value !== value && !(this.type === 'range' || this.type === 'color' && this.value === value.toLowerCase())) {
    const held = this.value;
    throw new Error('this ' + this.type + ' field does not take "' + value.slice(0, 60) + '"' + (held ? '; it holds "' + held + '"' : ''));
  }
  this.dispatchEvent(new Event('input', {bubbles: true, composed: true}));
  this.dispatchEvent(new Event('change', {bubbles: true}));
}
