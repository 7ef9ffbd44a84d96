import sharp from 'sharp';
import { expect } from 'vitest';
import type { Rendering } from '../../src/render/capture.js';
import { blotOf } from '../render/picture/blots.js';
import { printedBoxes, printedTexts } from '../render/picture/pdf-pages.js';
import type { Report } from './report.js';

const ROWS = 60;
const ROW_PX = 40;
const VIEW = { width: 320, height: 400, deviceScaleFactor: 1 };
const FULL = { full_page: true, viewport: VIEW };
const NATIVE = { ...FULL, full_page_algorithm: 'native' };

/** A row tells its number by its color. */
const COLOR = "const color = (at) => 'rgb(' + (at + 1) + ',' + (at % 2 ? 90 : 200) + ',50)'";

/** The numbers of the rows that can be seen in a column of the picture, from the top, each once. */
async function rowsOf({ content }: Rendering): Promise<number[]> {
  const column = sharp(content)
    .removeAlpha()
    .extract({ left: 5, top: 0, width: 1, height: (await sharp(content).metadata()).height });
  const samples = await column.raw().toBuffer();
  const seen: number[] = [];
  for (let at = 0; at < samples.length; at += 3) {
    const [red = 0, , blue = 0] = samples.subarray(at, at + 3);
    if (blue === 50 && seen.at(-1) !== red - 1) seen.push(red - 1);
  }
  return seen;
}

const ALL = Array.from({ length: ROWS }, (_, at) => at);

/** @param around CSS px of the page beside its rows */
const showsAll = (around: number) => async (rendering: Rendering) => {
  expect(await rowsOf(rendering)).toEqual(ALL);
  expect(rendering).toMatchObject({ height: ROWS * ROW_PX + around, warnings: [], diagnostics: { truncated: false } });
};

/** Draws rows into `list` with TanStack Virtual; `given` names what scrolls, and `onChange` is called when the rows change. */
function tanstack(given: string, scrolled: string, { onChange = 'draw', estimate = ROW_PX } = {}): string {
  return `<script>process = { env: { NODE_ENV: 'production' } }</script>
    <script type=module>import { Virtualizer, observeWindowOffset, observeWindowRect, windowScroll, observeElementOffset, observeElementRect, elementScroll } from '/npm/@tanstack/virtual-core/dist/esm/index.js';
      ${COLOR};
      const virtual = new Virtualizer({ count: ${ROWS}, estimateSize: () => ${estimate}, overscan: 1, getScrollElement: () => ${scrolled}, ${given}, onChange: ${onChange} });
      function draw() {
        list.style.height = virtual.getTotalSize() + 'px';
        list.replaceChildren(...virtual.getVirtualItems().map(({ index, start }) => {
          const row = document.createElement('div');
          row.dataset.index = index;
          row.style.cssText = 'position:absolute;left:0;right:0;height:${ROW_PX}px;background:' + color(index) + ';transform:translateY(' + (start - virtual.options.scrollMargin) + 'px)';
          return row;
        }));
        if (${estimate} !== ${ROW_PX}) for (const row of [...list.children]) virtual.measureElement(row);
      }
      virtual._didMount(); virtual._willUpdate(); draw();</script>`;
}

const inDocument = (onChange = 'draw') =>
  `<!doctype html><style>body{margin:0}header,footer{height:60px;background:#eee}</style><header></header><div id=list style="position:relative"></div><footer></footer>
  ${tanstack('scrollMargin: 60, observeElementRect: observeWindowRect, observeElementOffset: observeWindowOffset, scrollToFn: windowScroll', 'window', { onChange })}`;
const IN_DOCUMENT = inDocument();

/** As frameworks do that render in slices: 90 ms of work, 4 ms at a time. */
const IN_SLICES = inDocument(`() => {
  const { port1, port2 } = new MessageChannel();
  let left = 22;
  port1.onmessage = () => {
    for (const began = performance.now(); performance.now() - began < 4; );
    if (--left > 0) port2.postMessage(0);
    else draw();
  };
  port2.postMessage(0);
}`);

const inScroller = (
  estimate = ROW_PX,
) => `<!doctype html><style>html,body{margin:0;height:100%}body{display:flex;flex-direction:column}header,footer{height:60px;flex:none}#box{flex:1;min-height:0;overflow:auto}</style>
  <header></header><div id=box><div id=list style="position:relative"></div></div><footer></footer>
  ${tanstack('observeElementRect, observeElementOffset, scrollToFn: elementScroll', 'box', { onChange: '() => requestAnimationFrame(draw)', estimate })}`;

/** This version draws no more rows than fit into the height that it is given. */
const REACT_WINDOW = `<!doctype html><style>html,body{margin:0}footer{height:60px}</style><div id=root></div><footer></footer>
  <script src=/npm/react/umd/react.production.min.js></script><script src=/npm/react-dom/umd/react-dom.production.min.js></script><script src=/npm/react-window/dist/index-prod.umd.js></script>
  <script>${COLOR};
    const Row = ({ index, style }) => React.createElement('div', { style: { ...style, background: color(index) } });
    ReactDOM.createRoot(root).render(React.createElement(ReactWindow.FixedSizeList, { itemCount: ${ROWS}, itemSize: ${ROW_PX}, height: 340, width: '100%' }, Row))</script>`;

/** A list below `above` CSS px that draws each row in an element whose row has left the view, as RecycleScroller of vue-virtual-scroller does. */
const reusing = (
  above: number,
) => `<!doctype html><style>body{margin:0}div{position:absolute;left:0;right:0;height:${ROW_PX}px;color:#fff;text-align:right}</style>
  <p style="height:${above}px;margin:0"></p><main id=list style="position:relative;height:${ROWS * ROW_PX}px"></main>
  <script>${COLOR};
    const rows = new Map();
    function draw() {
      const from = Math.floor((scrollY - ${above}) / ${ROW_PX}) - 1, to = Math.ceil((scrollY - ${above} + innerHeight) / ${ROW_PX}) + 1;
      const free = [...rows].filter(([at]) => at < from || at > to);
      for (let at = Math.max(0, from); at <= Math.min(${ROWS - 1}, to); at++) {
        if (rows.has(at)) continue;
        const [was, row = list.appendChild(document.createElement('div'))] = free.pop() ?? [];
        rows.delete(was);
        rows.set(at, row);
        row.textContent = 'row ' + at;
        row.style.background = color(at);
        row.style.transform = 'translateY(' + at * ${ROW_PX} + 'px)';
      }
    }
    addEventListener('scroll', () => requestAnimationFrame(draw));
    draw();</script>`;

export const VIRTUALISED_LISTS: Record<string, Report> = {
  'Every row of a virtualized list in the document is pictured': {
    source: 'https://github.com/microsoft/playwright/issues/40941',
    page: IN_DOCUMENT,
    request: FULL,
    right: showsAll(120),
  },
  'Every row of a virtualized list that is drawn in slices of work is pictured': {
    source: 'https://react.dev/reference/react/startTransition',
    page: IN_SLICES,
    request: FULL,
    right: showsAll(120),
  },
  'Every row of a virtualized list that the page scrolls is pictured, native too': {
    source: 'https://github.com/aurelia/ui-virtualization/issues/67',
    page: IN_DOCUMENT,
    request: NATIVE,
    right: showsAll(120),
  },
  'Every row of a virtualized list in an inner scroller is pictured, native too': {
    source: 'https://github.com/mui/mui-x/issues/9933',
    page: inScroller(),
    request: NATIVE,
    right: showsAll(120),
  },
  'A list that has estimated its rows to be twice as high as they are is as high as its rows': {
    source: 'https://tanstack.com/virtual/latest/docs/api/virtualizer#estimatesize',
    page: inScroller(2 * ROW_PX),
    request: FULL,
    right: showsAll(120),
  },
  'A list that has estimated its rows to be a little lower than they are shows the last ones': {
    source: 'https://github.com/Akryum/vue-virtual-scroller#dynamicscroller',
    page: inScroller(ROW_PX - 2),
    request: FULL,
    right: showsAll(120),
  },
  'A list whose rows are higher on paper is printed to its last row': {
    source: 'https://github.com/Akryum/vue-virtual-scroller#dynamicscroller',
    page: `${inScroller(2 * ROW_PX)}<style>@media print{#list div{height:60px!important}}</style>`,
    request: { format: 'pdf', pdf: { paper: { width: '320px', height: '4000px' }, margin: '0px' }, viewport: VIEW },
    right: async ({ content }) => {
      const rows = (await printedBoxes(content)).filter(({ height }) => height === 60);
      expect(rows.filter(({ color }) => color.endsWith('50)'))).toHaveLength(ROWS);
    },
  },
  'Every row of a list that draws no more than fit into the height it was given is pictured': {
    source: 'https://github.com/bvaughn/react-window/issues/658',
    page: REACT_WINDOW,
    request: FULL,
    right: showsAll(60),
  },
  'Every row of a virtualized list is printed, also one without text': {
    source: 'https://github.com/angular/components/issues/10125',
    page: IN_DOCUMENT,
    request: { ...NATIVE, format: 'pdf' },
    async right({ content, warnings, diagnostics }) {
      const colors = (await printedBoxes(content)).map(({ color }) => color.match(/\d+/g)?.map(Number) ?? []);
      expect(colors.filter(([, , blue]) => blue === 50).map(([red = 0]) => red - 1)).toEqual(ALL);
      expect({ warnings, diagnostics }).toMatchObject({ warnings: [], diagnostics: { truncated: false } });
    },
  },
  'Every row of a list that reuses its elements for other rows is pictured': {
    source: 'https://github.com/Akryum/vue-virtual-scroller/tree/master/packages/vue-virtual-scroller#recyclescroller',
    page: reusing(0),
    request: FULL,
    right: showsAll(0),
  },
  'Every row of a list that reuses its elements for other rows is printed': {
    source: 'https://github.com/Akryum/vue-virtual-scroller/tree/master/packages/vue-virtual-scroller#recyclescroller',
    page: reusing(900),
    request: { format: 'pdf', pdf: { paper: 'a4' } },
    async right({ content, warnings, diagnostics }) {
      const texts = (await printedTexts(content)).flatMap((page) => page.toSorted((a, b) => a.top - b.top));
      expect(texts.map(({ text }) => text)).toEqual(ALL.map((at) => `row ${at}`));
      expect({ warnings, diagnostics }).toMatchObject({ warnings: [], diagnostics: { truncated: false } });
    },
  },
  'An inner scroller of 800,000 px is made no higher than a renderer can draw rows for': {
    source: 'https://github.com/angular/components/issues/10125',
    page: `<!doctype html><style>html,body{margin:0;height:100%}#box{position:relative;height:100%;overflow:auto}#all{height:800000px}
      #end{position:absolute;top:calc(100% - 99990px);width:50px;height:20px;background:rgb(1,2,3)}</style><div id=box><div id=all></div><div id=end></div></div>`,
    request: { clip: { x: 0, y: 0, width: 100, height: 100 }, viewport: VIEW },
    async right({ content }) {
      expect(await blotOf(content, [1, 2, 3])).toMatchObject({ top: 10, height: 20 });
    },
  },
  'a scroller that shows all of its slotted and mixed content lacks nothing': {
    source: 'https://github.com/ionic-team/ionic-framework/issues/18487',
    page: `<!doctype html><style>body{margin:0}main{height:400px;overflow-y:auto}</style><main><template shadowrootmode=open>
      <div style="height:100%;overflow-y:auto"><slot></slot></div></template><pre>${'line of text\n'.repeat(80)}<b>End</b>${'\nline of text'.repeat(80)}</pre></main>`,
    request: NATIVE,
    right: (rendering) => expect(rendering).toMatchObject({ warnings: [], diagnostics: { truncated: false } }),
  },
};
