/** App shells: pages whose content scrolls in an inner element, between a header and a footer, beside a navigation of full height. */
export const SHELL_NAV = [200, 220, 255] as const;
export const SHELL_FOOTER = [150, 200, 255] as const;
/** CSS px, when all of the content is seen: header, rows, footer. */
export const SHELL_HEIGHT = 60 + 80 * 40 + 50;

export const SHELL_ROWS = Array.from({ length: 80 }, (_, i) => `<p style="margin:0;height:40px">row ${i}</p>`).join('');

const shell = (
  app: string,
  scroller = '',
) => `<!doctype html><style>*{box-sizing:border-box}html,body{height:100%;margin:0;overflow:hidden}#app{${app}}
  nav{width:200px;background:rgb(${SHELL_NAV});height:100%}main{flex:1;display:flex;flex-direction:column;min-height:0}
  header{height:60px;background:rgb(255,200,150);flex:none}.scroll{flex:1;overflow:auto;background:rgb(230,255,230);${scroller}}
  footer{height:50px;background:rgb(${SHELL_FOOTER});flex:none}</style>
  <div id=app><nav></nav><main><header></header><div class=scroll>${SHELL_ROWS}</div><footer></footer></main></div>`;

export const SHELLS = [
  shell('display:flex;height:100vh'),
  shell('display:flex;position:fixed;inset:0'),
  shell('display:grid;grid-template-columns:200px 1fr;position:absolute;inset:0'),
  shell('display:flex;height:100%', 'scroll-behavior:smooth;scroll-snap-type:y mandatory'),
  // The body itself is the scroller, behind a root that does not scroll.
  shell('display:flex;height:100vh').replace('body{height:100%', 'body{height:100%;overflow:auto;'),
];
