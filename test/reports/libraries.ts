import { expect } from 'vitest';
import { blotOf } from '../render/picture/blots.js';
import { printedBoxes } from '../render/picture/pdf-pages.js';
import type { Report } from './report.js';

/** A page on which a library has drawn with its defaults, on the left, and without an animation, on the right. */
const MOVED = [204, 0, 0] as const;
const STILL = [0, 0, 204] as const;
const RIGHT_PX = 400;

const script = (file: string) => `<script src="/npm/${file}"></script>`;

function page(file: string, body: string, code: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A drawing</title><style>body{margin:0}#pair{display:flex}#pair>*{width:${RIGHT_PX}px;height:300px;flex:none;position:relative}</style></head><body>${body}${script(file)}<script>${code}</script></body></html>`;
}

const PAIR = '<div id="pair"><div id="moved"></div><div id="still"></div></div>';
const CANVASES = '<div id="pair"><div><canvas id="moved"></canvas></div><div><canvas id="still"></canvas></div></div>';
const BOXES = `${PAIR}<style>i{position:absolute;width:60px;height:60px;background:#c00}#still i{background:#00c}</style><script>moved.innerHTML = still.innerHTML = '<i></i><i></i>'.repeat(3)</script>`;

async function sameOnBothSides({ content }: { content: Uint8Array }): Promise<void> {
  const [moved, still] = [await blotOf(content, MOVED), await blotOf(content, STILL)];
  expect(still.pixels).toBeGreaterThan(200);
  // A px of the edges may be a mixture of two colors.
  for (const edge of ['top', 'width', 'height'] as const)
    expect(Math.abs(moved[edge] - still[edge]), edge).toBeLessThanOrEqual(2);
  expect(Math.abs(moved.left + RIGHT_PX - still.left)).toBeLessThanOrEqual(2);
  expect(Math.abs(moved.pixels / still.pixels - 1)).toBeLessThan(0.1);
}

/** A report on such a page: the same must be drawn on both sides. */
function drawn(
  source: string,
  [file, body, code]: [file: string, body: string, code: string],
  request?: Report['request'],
): Report {
  return { source, page: page(file, body, code), ...(request && { request }), right: sameOnBothSides };
}

const CHART = (color: string) =>
  `{ labels: ['a', 'b', 'c'], datasets: [{ label: 'Lamps', data: [10, 20, 30], backgroundColor: '${color}' }] }`;
const chart = (side: string, type: string, more = '') =>
  `new Chart(${side}, { type: '${type}', data: ${CHART(side === 'moved' ? '#c00' : '#00c')}${more} })`;
const CHART_JS = 'chart.js/dist/chart.umd.min.js';
const APEX = `for (const [side, color, enabled] of [[moved, '#cc0000', true], [still, '#0000cc', false]])
  new ApexCharts(side, { chart: { type: 'bar', height: 300, ...(enabled ? {} : { animations: { enabled } }) }, colors: [color], fill: { opacity: 1 },
    dataLabels: { enabled: false }, series: [{ name: 'Lamps', data: [30, 40, 35] }], xaxis: { categories: ['a', 'b', 'c'] } }).render()`;
const D3 = 'd3/dist/d3.min.js';
const D3_BARS = `for (const [side, color] of [['#moved', '#c00'], ['#still', '#00c']]) {
  const bars = d3.select(side).append('svg').attr('width', 400).attr('height', 300).selectAll('rect').data([10, 20, 30]).join('rect')
    .attr('x', (d, i) => i * 100).attr('width', 80).attr('y', 300).attr('height', 0).attr('fill', color);
  const drawn = side === '#moved' ? bars.transition().duration(1200).delay((d, i) => i * 200) : bars;
  drawn.attr('y', (d) => 300 - d * 8).attr('height', (d) => d * 8);
}`;
/** Its 135 ticks take 2.3 s of the page's time: more than a page has that nothing moves in. */
const D3_FORCES = `for (const [side, color] of [['#moved', '#c00'], ['#still', '#00c']]) {
  const nodes = d3.range(40).map((id) => ({ id }));
  const links = d3.range(39).map((n) => ({ source: Math.floor(n / 3), target: n + 1 }));
  const forces = d3.forceSimulation(nodes).alphaDecay(0.05).force('charge', d3.forceManyBody()).force('link', d3.forceLink(links).distance(20)).force('center', d3.forceCenter(200, 150));
  const circles = d3.select(side).append('svg').attr('width', 400).attr('height', 300).selectAll('circle').data(nodes).join('circle').attr('r', 4).attr('fill', color);
  const draw = () => circles.attr('cx', ({ x }) => x).attr('cy', ({ y }) => y);
  if (side === '#moved') forces.on('tick', draw);
  else { forces.stop().tick(300); draw(); }
}`;
const TIMELINE = `const go = (side, more) => gsap.timeline().to(side, { x: 200, ...more }).to(side, { y: 150, ...more }).to(side, { scale: 2, ...more });
  go('#moved i', {}); go('#still i', { duration: 0 })`;
const FADED = `</script>${script('gsap/dist/ScrollTrigger.min.js')}<script>gsap.registerPlugin(ScrollTrigger);
  gsap.from('#moved i', { scrollTrigger: '#moved', y: 200, opacity: 0 })`;
const ANIME =
  "anime.animate('#moved i', { x: 300, y: 100, delay: anime.stagger(100) }); anime.animate('#still i', { x: 300, y: 100, duration: 0 })";
const LEAFLET = `<link rel="stylesheet" href="/npm/leaflet/dist/leaflet.css">${PAIR}`;
const MAP = `L.tileLayer('/image/256x256/cc0000.png?wait=60&t={z}-{x}-{y}').addTo(L.map('moved', { attributionControl: false, zoomControl: false }).setView([51.5, -0.1], 5))`;
const seen = (script: string) =>
  `new IntersectionObserver(([{ isIntersecting }], seen) => { if (!isIntersecting) return; seen.disconnect(); ${script} }).observe(moved);`;

export const LIBRARIES: Record<string, Report> = {
  'A bar chart of Chart.js 4 is pictured with bars of their full height.': drawn(
    'https://www.chartjs.org/docs/latest/configuration/animations.html',
    [CHART_JS, CANVASES, `${chart('moved', 'bar')}; ${chart('still', 'bar', ', options: { animation: false }')}`],
  ),
  'A chart that is drawn once it is scrolled to is complete in a picture of the full page.': drawn(
    'https://www.chartjs.org/docs/latest/configuration/animations.html',
    [
      CHART_JS,
      `<div style="height:1500px"></div>${CANVASES}`,
      seen(chart('moved', 'doughnut')) + chart('still', 'doughnut', ', options: { animation: false }'),
    ],
    { full_page: true },
  ),
  'A bar chart of Chart.js 2, which counts animation frames, is pictured with bars of their full height.': drawn(
    'https://www.chartjs.org/docs/2.9.4/configuration/animations.html',
    [
      'chart.js-2/dist/Chart.bundle.min.js',
      CANVASES,
      `${chart('moved', 'bar')}; ${chart('still', 'bar', ', options: { animation: { duration: 0 } }')}`,
    ],
  ),
  'A bar chart of ApexCharts is pictured with bars of their full height.': drawn(
    'https://apexcharts.com/docs/options/chart/animations/',
    ['apexcharts/dist/apexcharts.min.js', PAIR, APEX],
  ),
  'Transitions of D3 are pictured at their end.': drawn('https://d3js.org/d3-transition', [D3, PAIR, D3_BARS]),
  'Transitions of D3 are printed at their end.': {
    ...drawn('https://d3js.org/d3-transition', [D3, PAIR, D3_BARS], { format: 'pdf' }),
    right: async ({ content }) => {
      const boxes = await printedBoxes(content);
      const heights = (color: string) =>
        boxes.filter((box) => box.color === color).map(({ height }) => Math.round(Math.abs(height)));
      expect(heights('rgb(0,0,204)')).toHaveLength(3);
      expect(heights('rgb(204,0,0)')).toEqual(heights('rgb(0,0,204)'));
    },
  },
  'A force simulation of D3 is pictured when its forces have come to rest.': drawn(
    'https://d3js.org/d3-force/simulation',
    [D3, PAIR, D3_FORCES],
  ),
  'A timeline of GSAP is pictured at its end.': drawn('https://gsap.com/docs/v3/GSAP/gsap.timeline()/', [
    'gsap/dist/gsap.min.js',
    BOXES,
    TIMELINE,
  ]),
  'What GSAP fades in when it is scrolled to is there in a picture of the full page.': drawn(
    'https://gsap.com/docs/v3/Plugins/ScrollTrigger/',
    ['gsap/dist/gsap.min.js', `<div style="height:1200px"></div>${BOXES}`, FADED],
    { full_page: true },
  ),
  'An animation of anime.js is pictured at its end.': drawn('https://animejs.com/documentation/animation', [
    'animejs/dist/bundles/anime.umd.min.js',
    BOXES,
    ANIME,
  ]),
  'A number that CountUp.js counts up is pictured at its end.': {
    source: 'https://inorganik.github.io/countUp.js/',
    page: page('countup.js/dist/countUp.umd.js', '<p id="n">0</p>', `new countUp.CountUp('n', 98765).start()`),
    request: { fail_if_content_missing: ['98,765'] },
    right: () => {},
  },
  'A text that Typed.js types is pictured when it is typed.': {
    source: 'https://mattboldt.com/demos/typed-js/',
    page: page(
      'typed.js/dist/typed.umd.js',
      '<p><span id="n"></span></p>',
      `new Typed('#n', { strings: ['Lamps for all'], typeSpeed: 50 })`,
    ),
    request: { fail_if_content_missing: ['Lamps for all'] },
    right: () => {},
  },
  'The tiles of a Leaflet map are pictured when they have faded in.': {
    ...drawn('https://leafletjs.com/reference.html#map-fadeanimation', ['leaflet/dist/leaflet.js', LEAFLET, MAP]),
    right: async ({ content }) => {
      // Between two tiles, the browser may draw a line of another shade.
      expect((await blotOf(content, MOVED)).pixels).toBeGreaterThan(RIGHT_PX * 300 * 0.97);
    },
  },
};
