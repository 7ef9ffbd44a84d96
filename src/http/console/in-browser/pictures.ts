/** Zoom of a picture, and the slider between two. */

/** Factors of the page's own size. */
const STEPS = [0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4];
/** Pointer movement from which a press is no click, in px. */
const DRAG_PX = 4;

export function addZoom(part: ParentNode = document): void {
  for (const viewer of part.querySelectorAll<HTMLElement>('[data-viewer]')) zoomable(viewer);
}

function zoomable(viewer: HTMLElement): void {
  const frame = viewer.querySelector<HTMLElement>('.picture');
  const image = viewer.querySelector('img');
  const output = viewer.querySelector('output');
  const tools = viewer.querySelector<HTMLElement>('[data-tools]');
  if (frame === null || image === null || output === null || tools === null) return;
  tools.hidden = false;
  const density = Number(viewer.dataset.viewer) || 1;
  const naturalWidth = () => (image.naturalWidth || image.width) / density;
  const factor = () => image.clientWidth / naturalWidth();
  const show = () => {
    output.textContent = `${Math.round(factor() * 100)} %`;
  };
  if (image.complete) show();
  image.addEventListener('load', show);
  /** @param to a factor, or null to fit the width; the point of the frame (px) stays where it is */
  const zoom = (to: number | null, at = { x: frame.clientWidth / 2, y: frame.clientHeight / 2 }) => {
    const before = image.clientWidth;
    const [x, y] = [frame.scrollLeft + at.x, frame.scrollTop + at.y];
    viewer.toggleAttribute('data-zoomed', to !== null);
    image.style.width = to === null ? '' : `${naturalWidth() * to}px`;
    const grown = image.clientWidth / before;
    frame.scrollTo(x * grown - at.x, y * grown - at.y);
    show();
  };
  const step = (by: 1 | -1) => {
    const now = factor();
    const next = by > 0 ? STEPS.find((each) => each > now * 1.01) : STEPS.findLast((each) => each < now * 0.99);
    if (next !== undefined) zoom(next);
  };
  const deeds: Record<string, () => void> = {
    in: () => step(1),
    out: () => step(-1),
    fit: () => zoom(null),
    full: () => zoom(1),
  };
  const keys: Record<string, string> = { '+': 'in', '=': 'in', '-': 'out', '0': 'fit', '1': 'full' };
  tools.addEventListener('click', ({ target }) => deeds[(target as HTMLElement).dataset.zoom ?? '']?.());
  frame.addEventListener('keydown', (event) => {
    const deed = event.ctrlKey || event.metaKey || event.altKey ? undefined : deeds[keys[event.key] ?? ''];
    if (deed === undefined) return;
    event.preventDefault();
    deed();
  });
  let pressed: { x: number; y: number; left: number; top: number } | null = null;
  let dragged = false;
  frame.addEventListener('pointerdown', (event) => {
    dragged = false;
    if (event.button !== 0 || event.pointerType !== 'mouse') return;
    pressed = { x: event.clientX, y: event.clientY, left: frame.scrollLeft, top: frame.scrollTop };
  });
  addEventListener('pointermove', ({ clientX, clientY }) => {
    if (pressed === null) return;
    const [x, y] = [clientX - pressed.x, clientY - pressed.y];
    dragged ||= Math.hypot(x, y) > DRAG_PX;
    if (dragged) frame.scrollTo(pressed.left - x, pressed.top - y);
  });
  addEventListener('pointerup', () => {
    pressed = null;
  });
  image.draggable = false;
  image.addEventListener('click', ({ clientX, clientY }) => {
    if (dragged) return;
    const { left, top } = frame.getBoundingClientRect();
    zoom(viewer.hasAttribute('data-zoomed') ? null : Math.max(1, factor() * 2), {
      x: clientX - left,
      y: clientY - top,
    });
  });
}

/** Puts two pictures on top of each other; the slider says how much of the earlier one is seen. */
export function addSliders(): void {
  for (const each of document.querySelectorAll<HTMLElement>('[data-slider]')) {
    const range = each.querySelector<HTMLInputElement>('input[type=range]');
    const images = [...each.querySelectorAll('img')];
    if (range === null) continue;
    range.hidden = false;
    each.setAttribute('data-live-slider', '');
    const show = () => each.style.setProperty('--at', `${range.value}%`);
    // Pictures of different widths keep their scale.
    const keepScale = () => {
      const widest = Math.max(...images.map(({ naturalWidth }) => naturalWidth));
      for (const image of images) if (widest > 0) image.style.width = `${(image.naturalWidth / widest) * 100}%`;
    };
    range.addEventListener('input', show);
    for (const image of images) image.addEventListener('load', keepScale);
    keepScale();
    show();
  }
}
