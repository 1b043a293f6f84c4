// The script of the console. Every page works without it: it swaps parts of pages in place of
// loading them whole, searches while one types, keeps live parts live, and listens to keys.
"use strict";
(() => {
  const $ = (sel, from = document) => from.querySelector(sel);
  const $$ = (sel, from = document) => [...from.querySelectorAll(sel)];
  const say = (text) => { const note = $("#live-note"); if (note) note.textContent = text; };

  // Light and dark: as the system says, until the person says otherwise.
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.dataset.theme = theme;
  const switchTheme = () => {
    const now = document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    const next = now === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem("theme", next);
  };

  // Swapping: fetch a page's main part and put the named element of it in the place of ours.
  let running = null; // the request under way: a newer one cancels it
  async function swap(target, url, options = {}) {
    if (running) running.abort();
    const mine = running = new AbortController();
    const headers = { "Callgate-Fragment": "1", "Callgate-CSRF": document.body.dataset.csrf };
    document.body.classList.add("loading");
    try {
      const answer = await fetch(url, { ...options, headers, signal: mine.signal });
      const text = await answer.text();
      const page = new DOMParser().parseFromString(`<main id="main" tabindex="-1">${text}</main>`, "text/html");
      const ok = answer.ok && $(target, page);
      const into = $(ok ? target : "#main");
      into.replaceWith($(ok ? target : "#main", page));
      if (answer.redirected || options.push) {
        const at = new URL(answer.redirected ? answer.url : url, location.href);
        history.pushState({}, "", at.pathname + at.search);
        followPage();
      }
      if (target === "#main" || !ok) { $("#main").focus({ preventScroll: options.keep }); if (!options.keep) scrollTo(0, 0); }
      ready();
      return answer.ok;
    } catch (failed) {
      if (failed.name !== "AbortError") say("The kernel cannot be reached. Reload the page to try again.");
      return false;
    } finally {
      if (running === mine) { running = null; document.body.classList.remove("loading"); }
    }
  }
  // What is swapped in has another live part, or none.
  function followPage() {
    const at = location.pathname;
    const call = at.match(/^\/calls\/([^/]+)$/);
    const own = $("[data-live-part]")?.dataset.livePart;
    const live = own ? own : at === "/conversations" ? "conversations" : at === "/" ? "now" : at === "/work" ? "work" : at === "/approvals" && !location.search.includes("all=") ? "approvals"
      : call ? "call?id=" + encodeURIComponent(decodeURIComponent(call[1]))
      : at === "/journal" && !location.search.includes("before") ? "journal" + location.search : "";
    if (own || live !== document.body.dataset.live) { document.body.dataset.live = live; listen(); }
    $$("header nav a").forEach((a) => {
      const here = a.pathname === "/" ? at === "/" : at.startsWith(a.pathname);
      if (here) a.setAttribute("aria-current", "page"); else a.removeAttribute("aria-current");
    });
  }
  addEventListener("popstate", () => location.reload());

  document.addEventListener("submit", (e) => {
    const form = e.target;
    if (!form.dataset.swap || e.defaultPrevented) return;
    e.preventDefault();
    const body = new URLSearchParams(new FormData(form, e.submitter));
    const url = new URL(form.getAttribute("action"), location.href);
    if (e.submitter?.matches("[data-approve]") && performance.now() - moved < 600) {
      say("The list has just changed. Look again before you approve.");
      return;
    }
    if (form.method === "post") {
      const buttons = $$("button:enabled", form);
      buttons.forEach((b) => (b.disabled = true));
      swap(form.dataset.swap, url, { method: "POST", body }).finally(() => buttons.forEach((b) => (b.disabled = false)));
    } else {
      [...body].forEach(([k, v]) => v || body.delete(k, v));
      url.search = body;
      swap(form.dataset.swap, url, { push: true, keep: true });
    }
  });
  document.addEventListener("click", (e) => {
    const link = e.target.closest("a[data-swap]");
    if (link && !e.metaKey && !e.ctrlKey && !e.shiftKey) { e.preventDefault(); swap(link.dataset.swap, link.href, { push: true }); }
    if (e.target.closest("[data-theme-switch]")) switchTheme();
    if (e.target.closest("[data-help]")) $("#keys").showModal();
    if (e.target.closest("[data-notify]")) Notification.requestPermission().then(ready);
  });

  // Search while one types: a pause of typing sends, and a newer search cancels the older.
  let typing = 0;
  document.addEventListener("input", (e) => {
    const field = e.target.closest("[data-search], [data-now]");
    if (!field) return;
    clearTimeout(typing);
    typing = setTimeout(() => {
      const url = new URL(field.form.action);
      url.search = new URLSearchParams([...new FormData(field.form)].filter(([, v]) => v));
      const target = field.form.dataset.swap === "#main" ? "#live" : field.form.dataset.swap;
      swap(target, url, { keep: true }).then((ok) => ok && history.replaceState({}, "", url.pathname + url.search) === undefined && followPage());
    }, field.matches("[data-now]") ? 0 : 130);
  });

  // Live parts: one stream for a page, which brings what waits and the page's own part. A part
  // keeps what a person has ticked, typed and focused, by the row that it belongs to. When rows
  // come, go or move, a click that was aimed at the old place approves nothing for a moment.
  let source = null;
  let moved = -1000; // when rows last moved
  const rowOf = (e) => { const r = e.closest("[data-row]"); return r && (r.dataset.id || $("a", r)?.href); };
  const placeOf = (e) => [rowOf(e), e.name, e.type === "checkbox" || e.localName === "button" ? e.value : "", e.localName === "a" ? e.href : ""].join(" ");
  const fillable = "input:not([type=hidden], [type=checkbox], [type=radio]), textarea";
  function listen() {
    if (source) source.close();
    source = new EventSource("/live/" + (document.body.dataset.live || "waits"));
    source.addEventListener("waits", (e) => showWaits(JSON.parse(e.data)));
    source.addEventListener("part", (e) => {
      const part = $("#live");
      if (!part || part.contains(document.activeElement) && document.activeElement.matches("input:not([type=checkbox]), textarea, select")) return;
      const chosen = new Set($$("input[name=id]:checked", part).map((i) => i.value));
      const typed = new Map($$(fillable, part).filter((i) => i.value !== i.defaultValue).map((i) => [placeOf(i), i.value]));
      const at = $("[data-row].at", part), key = at && rowOf(at);
      const held = part.contains(document.activeElement) ? placeOf(document.activeElement) : null;
      const order = () => $$("[data-row]", part).map(rowOf).join(" ");
      const before = order();
      part.innerHTML = e.data;
      if (order() !== before) moved = performance.now();
      $$("input[name=id]", part).forEach((i) => (i.checked = chosen.has(i.value)));
      $$(fillable, part).forEach((i) => { if (typed.has(placeOf(i))) i.value = typed.get(placeOf(i)); });
      if (key) $$("[data-row]", part).find((r) => rowOf(r) === key)?.classList.add("at");
      if (held) $$("a, button, input", part).find((i) => placeOf(i) === held)?.focus({ preventScroll: true });
    });
    source.addEventListener("turn", (e) => turn(JSON.parse(e.data)));
    source.addEventListener("over", () => {
      source.close();
      const words = $("textarea[data-say]")?.value;
      swap("#main", location.href, { keep: true }).then(() => {
        if (words && $("textarea[data-say]")) $("textarea[data-say]").value = words;
        followPage();
      });
    });
    source.onerror = () => say("Not live: the kernel is away. Trying again.");
    source.onopen = () => { say(""); $("#turn")?.replaceChildren(); }; // a stream begins with the turn
  }
  // A turn of a conversation: pieces of text are added as they come, rows are put in.
  function turn(piece) {
    const log = $("#turn");
    if (!log) return;
    if (piece.text) {
      let last = log.lastElementChild;
      if (!last || !last.matches(".assistant.open")) { last = document.createElement("div"); last.className = "message assistant open"; log.append(last); }
      last.append(piece.text);
    } else if (piece.html) {
      log.lastElementChild?.classList.remove("open");
      const box = new DOMParser().parseFromString(piece.html, "text/html").body.firstElementChild;
      const old = box?.id && document.getElementById(box.id);
      if (old) old.replaceWith(box); else if (box) log.append(box);
    }
    if (innerHeight + scrollY > document.body.scrollHeight - 400) scrollTo(0, document.body.scrollHeight);
  }
  addEventListener("beforeunload", () => source && source.close());

  // What waits: the number beside Approvals, the title, and a notification for what is new.
  let known = null;
  function showWaits(list) {
    $$("[data-waits]").forEach((b) => { b.textContent = list.length; b.hidden = !list.length; });
    document.title = document.title.replace(/^\(\d+\) /, "");
    if (list.length) document.title = `(${list.length}) ${document.title}`;
    const fresh = list.filter((w) => known && !known.has(w.id));
    const waits = new Set(list.map((w) => w.id));
    const shown = $("[data-pending]")?.dataset.pending; // the page of one thing that waits
    if (shown && (!known || known.has(shown)) && !waits.has(shown)) swap("#main", location.href, { keep: true });
    known = waits;
    fresh.forEach((w) => {
      say(w.text);
      setTimeout(() => say(""), 8000);
      if (!("Notification" in window) || Notification.permission !== "granted" || document.hasFocus()) return;
      const shown = new Notification("Callgate", { body: w.text, tag: w.id });
      shown.onclick = () => { window.focus(); location.href = w.page; };
    });
  }

  // Keys.
  let going = false;
  document.addEventListener("keydown", (e) => {
    if (e.metaKey || e.ctrlKey || e.altKey || e.target.closest("input:not([type=checkbox], [type=radio]), textarea, select, dialog[open]")) {
      if (e.key === "Escape") e.target.blur?.();
      return;
    }
    const rows = $$("[data-row]"), at = rows.findIndex((r) => r.classList.contains("at"));
    const row = rows[at];
    const move = (to) => {
      rows.forEach((r) => r.classList.remove("at"));
      const r = rows[Math.max(0, Math.min(rows.length - 1, to))];
      if (r) { r.classList.add("at"); r.scrollIntoView({ block: "nearest" }); ($("a", r) || r).focus({ preventScroll: true }); }
    };
    const answer = (name) => row && $(`[data-${name}]`, row)?.click();
    if (going) { going = false; const to = $(`header nav [data-key="${CSS.escape(e.key)}"]`); if (to) { e.preventDefault(); to.click(); } return; }
    switch (e.key) {
      case "/": { const q = $("input[type=search], [data-search]"); if (q) { e.preventDefault(); q.focus(); q.select(); } else location.href = "/tools"; break; }
      case "j": move(at + 1); break;
      case "k": move(at < 0 ? rows.length - 1 : at - 1); break;
      case "a": answer("approve"); break;
      case "d": answer("deny"); break;
      case "e": {
        const edit = $("[data-edit]");
        if (edit) { edit.open = true; e.preventDefault(); $("summary", edit).focus(); edit.scrollIntoView({ block: "nearest" }); }
        else if (row?.dataset.id) location.href = "/approvals/" + encodeURIComponent(row.dataset.id) + "?edit=1#edit";
        break;
      }
      case "g": going = true; setTimeout(() => (going = false), 1500); break;
      case "?": $("#keys").showModal(); break;
    }
  });

  function ready() {
    const ask = $("[data-notify]");
    if (ask) ask.hidden = !("Notification" in window) || Notification.permission !== "default";
    $$("textarea[data-say]").forEach((t) => {
      t.onkeydown = (e) => { if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); t.form.requestSubmit(); } };
    });
  }
  document.addEventListener("DOMContentLoaded", () => { ready(); listen(); });
})();
