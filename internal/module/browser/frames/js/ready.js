async function (still) {
  // Scrolls the element into view and returns whether it can be acted on: ok, or what is
  // in the way. Unless still is true, it may move and be covered.
  const frame = () => new Promise(done => { // whether one was drawn
    const timer = setTimeout(done, 100, false);
    requestAnimationFrame(() => { clearTimeout(timer); done(true); });
  });
  if (!this.isConnected) return 'stale';
  if (this.matches(':disabled') || this.closest('[aria-disabled="true"]')) return 'disabled';
  const place = () => [...this.getClientRects()].find(r => r.width > 0 && r.height > 0);
  const written = r => r ? [r.x, r.y, r.width, r.height].join() : '';
  if (!place() || getComputedStyle(this).visibility !== 'visible') return 'hidden';
  if (!still) return 'ok';
  this.scrollIntoViewIfNeeded(true);
  const before = written(place());
  const drawn = [await frame(), await frame()].every(Boolean);
  const r = place();
  if (written(r) !== before) return 'moving';

  // Without a frame nothing has moved yet that an animation is about to move.
  const around = n => n.parentNode || n.host;
  const inside = (n, el) => { for (; n; n = around(n)) if (n === el) return true; return false; };
  const moves = a => a.playState === 'running' && a.effect && inside(this, a.effect.target) &&
    isFinite(a.effect.getComputedTiming().endTime);
  if (!drawn && !document.hidden && document.getAnimations().some(moves)) return 'moving';

  // What a click in its middle would meet.
  const x = r.x + r.width / 2, y = r.y + r.height / 2;
  let hit = document.elementFromPoint(x, y);
  while (hit && hit.shadowRoot) {
    const deeper = hit.shadowRoot.elementFromPoint(x, y);
    if (!deeper || deeper === hit) break;
    hit = deeper;
  }
  if (hit && hit !== this && inside(this, hit) && this.getRootNode() !== document) hit = this.getRootNode().elementFromPoint(x, y); // in a closed tree
  if (!hit) return 'hidden';
  if (inside(hit, this)) return 'ok';
  const label = hit.closest('label');
  if (label && (label.control === this || inside(this, label))) return 'ok';
  const said = (hit.getAttribute('aria-label') || hit.innerText || '').trim().replace(/\s+/g, ' ').slice(0, 60);
  let what = '<' + hit.localName;
  if (hit.id) what += ' id="' + hit.id + '"';
  else if (hit.classList.length) what += ' class="' + [...hit.classList].slice(0, 3).join(' ') + '"';
  return 'covered by ' + what + '>' + (said ? ' "' + said + '"' : '');
}
