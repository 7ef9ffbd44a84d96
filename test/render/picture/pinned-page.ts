/** A page with every kind of pinned element over numbered bands; what is pinned has a color of its own. */
const style = (rules: string, [r, g, b]: readonly number[]) => `style="${rules};background:rgb(${r},${g},${b})"`;

/** Each is 40 CSS px high, 60 wide, in a column of its own, so that counting its color tells how often it was painted. */
export const PINNED = {
  fixedTop: [255, 0, 0],
  fixedBottom: [0, 255, 0],
  fixedMiddle: [0, 0, 255],
  stickyTop: [255, 255, 0],
  stickyInSection: [255, 0, 255],
  lateFixed: [0, 255, 255],
  lateClone: [128, 0, 0],
  backToTop: [0, 128, 0],
  shadowFixed: [0, 0, 128],
  carried: [128, 128, 0],
  stickyBottom: [128, 0, 128],
} as const;

export function pinnedPage(bodyHeight = 4_000): string {
  const box = (name: keyof typeof PINNED, rules: string, left: number, extra = '') =>
    `<div ${style(`left:${left}px;width:60px;height:40px;z-index:9;${rules}`, PINNED[name])} ${extra}></div>`;
  return `<!doctype html><style>
    html { scroll-behavior: smooth; scroll-snap-type: y mandatory }
    body { margin: 0; background: #fff }
    .hero { height: 100vh; background: rgb(200, 220, 240); scroll-snap-align: start }
    .band { height: 100px; background: rgb(240, 240, 240) }
    .band:nth-child(even) { background: rgb(225, 225, 225) }
    .section { height: 900px; position: relative; background: rgb(250, 240, 230) }
    .late { position: fixed !important; top: 0 }
    .padded { padding-top: 40px }
  </style>
  ${box('fixedTop', 'position:fixed;top:0', 0)}
  ${box('fixedBottom', 'position:fixed;bottom:0', 70)}
  ${box('fixedMiddle', 'position:fixed;top:40%', 140)}
  <x-shadow></x-shadow>
  <div style="transform:translateX(0);position:absolute;top:300px;left:0;width:1px;height:1px">${box('carried', 'position:fixed;top:0', 490)}</div>
  ${box('lateClone', 'position:fixed;top:0;display:none', 560, 'id="clone"')}
  ${box('backToTop', 'position:fixed;bottom:10px;display:none', 630, 'id="top"')}
  <div class="hero"></div>
  <div style="position:relative;margin-left:280px;width:60px">${box('lateFixed', '', 280, 'id="late"')}</div>
  ${box('stickyTop', 'position:sticky;top:0;margin-left:210px', 0)}
  <div class="section">${box('stickyInSection', 'position:sticky;top:20px;margin-left:350px', 0)}</div>
  <div id="bands"></div>
  ${box('stickyBottom', 'position:sticky;bottom:0;margin-left:700px', 0)}
  <script>
    document.getElementById('bands').innerHTML = Array.from({ length: ${bodyHeight / 100} }, (_, i) => '<div class="band">' + i + '</div>').join('');
    const shadow = document.querySelector('x-shadow').attachShadow({ mode: 'open' });
    shadow.innerHTML = '<div style="position:fixed;top:60px;left:420px;width:60px;height:40px;background:rgb(0,0,128)"></div>';
    addEventListener('scroll', () => {
      const far = scrollY > 700;
      document.getElementById('late').classList.toggle('late', far);
      document.body.classList.toggle('padded', far && location.hash === '#padded');
      for (const id of ['clone', 'top']) document.getElementById(id).style.display = far ? 'block' : 'none';
    });
  </script>`;
}
