// A run in training: shows its progress, and reloads the page until it is done. The reader's scroll position is kept.

const PLACE = "glassformer " + location.pathname;

function remembered() {
  try { return JSON.parse(sessionStorage.getItem(PLACE)) || {}; } catch { return {}; }
}

function remember(more) {
  try { sessionStorage.setItem(PLACE, JSON.stringify({ ...remembered(), ...more })); } catch { /* not allowed here */ }
}

// Restores the scroll position after a reload that this script made.
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
    : `Stopped at step ${whole(step)} of ${whole(steps)}. The same command resumes it; about ${duration(left)} left`;
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

// Shows how old the page is, and reloads it regularly: not while it is hidden, paused or in use.
function freshener({ written, refresh, silence }) {
  let paused = Boolean(remembered().paused), waited = 0;
  const age = el("span", {});
  const button = el("button", { type: "button", "aria-pressed": String(paused), onclick: () => {
    paused = !paused;
    remember({ paused });
    button.setAttribute("aria-pressed", String(paused));
  } }, "Pause");
  const showAge = () => {
    const seconds = Math.max(0, Date.now() / 1000 - written);
    age.textContent = seconds > silence
      ? `Nothing new for ${duration(seconds)}: the run has probably been stopped. The same command resumes it.`
      : `Updated ${duration(seconds)} ago; this page reloads by itself.`;
    age.className = seconds > silence ? "wrong" : "";
  };
  showAge();
  setInterval(() => {
    showAge();
    waited += 1;
    if (waited >= refresh && !paused && !document.hidden && !isBusy()) reload();
  }, 1000);
  return el("div", { class: "controls note" }, button, age);
}

const isBusy = () => Boolean(document.querySelector("svg.chart:hover, svg.chart:focus-visible") || String(getSelection()));

function reload() {
  remember({ scroll: window.scrollY });
  history.scrollRestoration = "manual";
  location.reload();
}
