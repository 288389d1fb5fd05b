// A training that goes on: how far it is, and the page read anew until it is done. Where a reader stood is kept.

const PLACE = "glassformer " + location.pathname;

function remembered() {
  try { return JSON.parse(sessionStorage.getItem(PLACE)) || {}; } catch { return {}; }
}

function remember(more) {
  try { sessionStorage.setItem(PLACE, JSON.stringify({ ...remembered(), ...more })); } catch { /* not allowed here */ }
}

// After a reload of our own.
function scrollBack() {
  const { scroll } = remembered();
  if (!isNumber(scroll)) return;
  remember({ scroll: null });
  window.scrollTo({ top: scroll, behavior: "instant" });
  history.scrollRestoration = "auto";
}

function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

function drawProgress(data, section) {
  const { step, steps, epoch, elapsed, left, best, refresh } = data.progress;
  const share = steps ? step / steps : 0;
  const where = refresh ? `Training, step ${whole(step)} of ${whole(steps)}, about ${duration(left)} left`
    : `Stopped at step ${whole(step)} of ${whole(steps)}. The same command goes on from there; it will take about ${duration(left)}`;
  const said = [`epoch ${whole(epoch)}`, elapsed ? `${duration(elapsed)} so far, validations included` : "", best && isolated(best)].filter(Boolean);
  section.append(
    el("p", { class: "where" }, where + "."),
    el("div", { class: "bar far-along", role: "progressbar", "aria-valuenow": Math.round(100 * share), "aria-valuemin": 0, "aria-valuemax": 100, "aria-label": "Steps done" },
      el("i", { style: `width:${(100 * share).toFixed(1)}%` })),
    el("p", { class: "note num" }, said.join(" · ")));
  if (refresh) {
    document.title = `${Math.floor(100 * share)}% · ${document.title}`;
    section.append(freshener(data.progress));
  }
  return true;
}

// Says how old the page is, and reads it anew every so often: not while it is hidden, paused or being read closely.
function freshener({ written, refresh, silence }) {
  let paused = Boolean(remembered().paused), waited = 0;
  const news = el("span", {});
  const button = el("button", { type: "button", "aria-pressed": String(paused), onclick: () => {
    paused = !paused;
    remember({ paused });
    button.setAttribute("aria-pressed", String(paused));
  } }, "Hold still");
  const tell = () => {
    const age = Math.max(0, Date.now() / 1000 - written);
    news.textContent = age > silence
      ? `Nothing new for ${duration(age)}: it has probably been stopped. The same command goes on with it.`
      : `As of ${duration(age)} ago; this page renews itself.`;
    news.className = age > silence ? "wrong" : "";
  };
  tell();
  setInterval(() => {
    tell();
    waited += 1;
    if (waited >= refresh && !paused && !document.hidden && !isBusy()) renew();
  }, 1000);
  return el("div", { class: "controls note" }, button, news);
}

const isBusy = () => Boolean(document.querySelector("svg.chart:hover, svg.chart:focus-visible") || String(getSelection()));

function renew() {
  remember({ scroll: window.scrollY });
  history.scrollRestoration = "manual";
  location.reload();
}
