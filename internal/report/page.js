'use strict';
(function () {
  const svg = document.getElementById('graph'), view = document.getElementById('view');
  const card = document.getElementById('card'), search = document.getElementById('search');
  const W = +svg.dataset.w, H = +svg.dataset.h;
  const boxes = new Map(), rows = new Map();
  for (const n of view.querySelectorAll('.n')) boxes.set(+n.dataset.i, n);
  const body = document.querySelector('#steps tbody');
  for (const r of body.rows) rows.set(+r.dataset.i, r);
  let scale = 1, x = 0, y = 0;

  function draw() {
    view.setAttribute('transform', `translate(${x},${y}) scale(${scale})`);
    svg.classList.toggle('far', scale < 0.3);
  }
  function zoom(factor, cx, cy) {
    const to = Math.min(4, Math.max(0.01, scale * factor));
    x = cx - (cx - x) * to / scale;
    y = cy - (cy - y) * to / scale;
    scale = to;
    draw();
  }
  function middle() { return [svg.clientWidth / 2, svg.clientHeight / 2]; }
  function fit() {
    const w = svg.clientWidth, h = svg.clientHeight;
    scale = Math.min(1.2, (w - 40) / Math.max(W, 1), (h - 40) / Math.max(H, 1));
    x = (w - W * scale) / 2;
    y = (h - H * scale) / 2;
    draw();
  }
  function start() {
    fit();
    // A long graph is shown from its beginning, large enough to read.
    if (scale < 0.45) {
      scale = 0.7;
      const first = boxes.values().next().value;
      x = svg.clientWidth / 2;
      y = 24;
      if (first) x -= first.transform.baseVal[0].matrix.e * scale;
      draw();
    }
  }
  function centre(n) {
    const m = n.transform.baseVal[0].matrix, [cx, cy] = middle();
    if (scale < 0.5) scale = 0.8;
    x = cx - m.e * scale;
    y = cy - m.f * scale;
    draw();
  }

  svg.addEventListener('wheel', e => {
    e.preventDefault();
    const r = svg.getBoundingClientRect();
    zoom(Math.exp(-e.deltaY * (e.ctrlKey ? 0.01 : 0.0016)), e.clientX - r.left, e.clientY - r.top);
  }, { passive: false });

  const touches = new Map();
  let moved = 0, apart = 0;
  svg.addEventListener('pointerdown', e => {
    touches.set(e.pointerId, e);
    moved = 0;
    apart = 0;
  });
  svg.addEventListener('pointermove', e => {
    const was = touches.get(e.pointerId);
    if (!was) return;
    moved += Math.abs(e.clientX - was.clientX) + Math.abs(e.clientY - was.clientY);
    if (moved > 4) { svg.setPointerCapture(e.pointerId); svg.classList.add('drag'); }
    touches.set(e.pointerId, e);
    if (touches.size === 1) {
      x += e.clientX - was.clientX;
      y += e.clientY - was.clientY;
      draw();
    } else if (touches.size === 2) {
      const [a, b] = [...touches.values()], r = svg.getBoundingClientRect();
      const d = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
      if (apart) zoom(d / apart, (a.clientX + b.clientX) / 2 - r.left, (a.clientY + b.clientY) / 2 - r.top);
      apart = d;
    }
  });
  for (const end of ['pointerup', 'pointercancel']) {
    svg.addEventListener(end, e => { touches.delete(e.pointerId); apart = 0; svg.classList.remove('drag'); });
  }
  svg.addEventListener('click', e => {
    if (moved > 4) return;
    const n = e.target.closest('.n');
    select(n ? +n.dataset.i : null);
  });
  document.getElementById('in').onclick = () => zoom(1.4, ...middle());
  document.getElementById('out').onclick = () => zoom(1 / 1.4, ...middle());
  document.getElementById('fit').onclick = fit;

  function select(i) {
    for (const n of document.querySelectorAll('.on')) n.classList.remove('on');
    card.hidden = true;
    if (i === null || !boxes.has(i)) return;
    boxes.get(i).classList.add('on');
    for (const e of view.querySelectorAll(`.e[data-a="${i}"], .e[data-b="${i}"]`)) e.classList.add('on');
    const row = rows.get(i);
    if (!row) return;
    row.classList.add('on');
    const names = [...document.querySelectorAll('#steps th')].map(t => t.textContent);
    const list = document.createElement('dl');
    [...row.cells].forEach((c, k) => {
      const text = c.textContent.trim();
      if (k < 2 || !text) return;
      const dt = document.createElement('dt'), dd = document.createElement('dd');
      dt.textContent = names[k];
      dd.textContent = text;
      list.append(dt, dd);
    });
    const title = document.createElement('h3');
    title.textContent = `${i} ${row.cells[1].textContent}`;
    card.replaceChildren(title, list);
    card.hidden = false;
  }
  body.addEventListener('click', e => {
    const r = e.target.closest('tr');
    if (!r || String(getSelection())) return;
    select(+r.dataset.i);
    centre(boxes.get(+r.dataset.i));
    document.getElementById('s-graph').scrollIntoView();
  });

  let hits = [], at = -1;
  search.addEventListener('input', () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    hits = [];
    at = -1;
    for (const [i, n] of boxes) {
      const text = ((rows.get(i) || n).textContent).toLowerCase();
      const hit = words.length > 0 && words.every(w => text.includes(w));
      n.classList.toggle('match', hit);
      if (rows.has(i)) rows.get(i).classList.toggle('match', hit);
      if (hit) hits.push(i);
    }
    document.getElementById('found').textContent = words.length ? `${hits.length} found` : '';
    if (hits.length) go(1);
  });
  function go(by) {
    if (!hits.length) return;
    at = (at + by + hits.length) % hits.length;
    centre(boxes.get(hits[at]));
    document.getElementById('found').textContent = `${at + 1} of ${hits.length}`;
  }
  search.addEventListener('keydown', e => {
    if (e.key === 'Enter') { go(e.shiftKey ? -1 : 1); if (at >= 0) select(hits[at]); }
    if (e.key === 'Escape') { search.value = ''; search.dispatchEvent(new Event('input')); }
  });
  document.getElementById('next').onclick = () => go(1);
  document.getElementById('prev').onclick = () => go(-1);

  for (const table of document.querySelectorAll('.list')) {
    for (const th of table.tHead.rows[0].cells) {
      th.addEventListener('click', () => {
        const dir = th.dataset.s === '1' ? -1 : 1, k = th.cellIndex, num = th.dataset.t === 'n';
        for (const o of table.tHead.rows[0].cells) delete o.dataset.s;
        th.dataset.s = dir;
        const key = r => num ? +r.cells[k].dataset.v : r.cells[k].textContent;
        const all = [...table.tBodies[0].rows];
        all.sort((a, b) => { const u = key(a), v = key(b); return dir * (num ? u - v : u.localeCompare(v)); });
        table.tBodies[0].append(...all);
      });
    }
  }
  addEventListener('resize', draw);
  start();
})();
