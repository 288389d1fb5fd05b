// Images of the task, one section for each gallery. Small images are enlarged without smoothing.

const gallerySections = (data) => (data.galleries || []).map((gallery) =>
  [gallery.key, gallery.title, () => gallery.pictures.length, (_, section) => drawGallery(gallery, section)]);

function drawGallery({ note, pictures, wide }, section) {
  section.append(el("p", { class: "note" }, words(note)));
  section.append(el("ul", { class: wide ? "gallery wide" : "gallery" }, pictures.map(drawPicture)));
  return true;
}

function drawPicture({ source, about, lines, mark }) {
  const image = el("img", { src: source, alt: about, loading: "lazy" });
  return el("li", { class: mark ? "picture " + mark : "picture" }, image, lines.map((line) => el("span", {}, words(line))));
}
