import { ICON, STYLE } from '../console/style.js';
import { source as docsScript } from './in-browser/docs-page.js?bundled';

const DOCS_STYLE = `.home { max-width: 62rem; margin: 0 auto; }
.home h1 { font-size: 2rem; margin: 1rem 0 0; }
.lead { max-width: 44rem; margin: 0 0 .5rem; color: var(--soft); font-size: 1.1rem; }
.ways { margin: 0; padding: 0; list-style: none; }
.ways h2 a { text-decoration: none; }
.ways h2 a::after { content: ' →'; }
.ways h2 a:hover { text-decoration: underline; }
.ways p { color: var(--soft); }
.docs { display: grid; grid-template-columns: 15rem minmax(0, 1fr); gap: 2rem; align-items: start; }
.docs > nav { position: sticky; grid-area: 1 / 1; top: 1rem; max-height: calc(100vh - 2rem); overflow-y: auto; padding: 0 .25rem 1rem 0; scrollbar-width: thin; }
.docs > .stack { grid-area: 1 / 2; }
.docs nav h2 { margin: .8rem 0 .1rem .7rem; color: var(--soft); font-size: .8rem; text-transform: uppercase; letter-spacing: .04em; }
.docs nav h2:first-child { margin-top: .2rem; }
.docs nav ul, .on-page ul { margin: 0; padding: 0; list-style: none; }
.docs nav a { display: block; padding: .12rem .7rem; font-size: .9375rem; border-radius: 6px; color: var(--text); text-decoration: none; }
.docs nav a:hover { background: var(--block); }
.docs nav a[aria-current] { background: var(--block); font-weight: 600; box-shadow: inset 2px 0 var(--accent); }
.docs nav ul ul { margin: .1rem 0 .4rem .7rem; border-left: 1px solid var(--line); }
.docs nav ul ul a { padding: .1rem .7rem; color: var(--soft); font-size: .875rem; overflow-wrap: anywhere; }
.docs h1 { margin: 0; }
.on-page { display: none; }
.on-page a { display: block; padding: .3rem 0; text-decoration: none; }
.to-contents { display: none; }
.neighbors { display: flex; flex-wrap: wrap; justify-content: space-between; gap: .5rem 2rem; margin: 0; }
.neighbors a { text-decoration: none; }
.bar search { flex: 1; }
search form { display: flex; gap: .5rem; justify-content: flex-end; }
search input { flex: 0 1 20rem; min-width: 0; padding: .45rem .6rem; border: 1px solid var(--control); border-radius: 6px; background: var(--card); }
.found { display: grid; gap: .75rem; margin: 0; padding: 0; list-style: none; }
.found h2 { margin: 0 0 .1rem; overflow-wrap: anywhere; }
.found p { margin: 0 0 .3rem; }
mark { padding: 0 .1em; border-radius: 3px; color: inherit; background: var(--busy-back); font-weight: 600; }
.prose { overflow-wrap: anywhere; line-height: 1.6; }
.prose > :not(.table, pre, img) { max-width: 48rem; }
.prose h2 { margin: 2.2rem 0 .6rem; font-size: 1.3rem; }
.prose h3 { margin: 1.6rem 0 .4rem; font-size: 1.1rem; }
.prose > :first-child, .prose > article:first-of-type > h2 { margin-top: 0; }
.prose li { margin: .2rem 0; }
.prose img { display: block; max-width: 100%; height: auto; margin: 1rem 0; border: 1px solid var(--line); border-radius: 8px; }
.prose pre { position: relative; line-height: 1.5; }
.prose pre:has(button) { padding-right: 4.6rem; min-height: 3rem; }
.prose pre button { position: absolute; top: .5rem; right: .5rem; border-color: var(--line); background: var(--card); font-family: system-ui, sans-serif; }
.prose .table th, .prose .table td { line-height: 1.45; }
.prose .table thead th { min-width: 0; font-weight: 600; }
.prose .table tbody th { min-width: 0; overflow-wrap: normal; }
.prose .table tbody td { min-width: 5rem; overflow-wrap: break-word; }
.prose .table tbody td:last-child { min-width: 14rem; }
.prose .table code { overflow-wrap: normal; }
.prose .table th code { white-space: nowrap; }
.prose kbd { display: inline-block; padding: 0 .45em; border: 1px solid var(--line); border-radius: 1rem; color: var(--soft); font: .75rem/1.4 system-ui, sans-serif; }
.prose dl { display: grid; grid-template-columns: 8rem minmax(0, 1fr); gap: .3rem 1rem; margin: 0; }
.prose dt { color: var(--soft); }
.prose dd { margin: 0; }
.prose :not(pre) > code { padding: .1em .3em; border-radius: 4px; background: var(--block); }
[id] { scroll-margin-top: 1rem; }
h2:target, h3:target, h4:target, article:target > h2, section:target > h2 { border-radius: 4px; background: var(--busy-back); box-shadow: 0 0 0 .3rem var(--busy-back); }
tr:target > * { background: var(--busy-back); }
tr:target > :first-child { box-shadow: inset 3px 0 var(--accent); }
:root.dark-mode .swagger-ui { background: none; }
.swagger-ui .wrapper { padding: 0; }
.swagger-ui .info .title small { background: #57606a; }
.swagger-ui .info .title small.version-stamp { background: #2f6f2f; }
.swagger-ui .info .title small pre { color: #fff; background: none; }
.swagger-ui .info { margin: 1rem 0; }
.swagger-ui .scheme-container { padding: 0; background: none; box-shadow: none; }
.swagger-ui tbody th, .swagger-ui tbody td, .swagger-ui thead th { min-width: 0; white-space: normal; }
@media (max-width: 60rem) {
  .docs { grid-template-columns: minmax(0, 1fr); }
  .docs > nav, .docs > .stack { position: static; grid-area: auto; max-height: none; }
  .docs > nav { padding-top: 1rem; border-top: 1px solid var(--line); }
  .docs nav ul { columns: 14rem; }
  .docs nav ul a { padding: .35rem .7rem; }
  .docs nav ul ul { display: none; }
  .on-page, .to-contents { display: block; }
}
@media (max-width: 48rem) {
  .bar { justify-content: flex-start; }
  .bar search { order: 1; flex-basis: 100%; }
  .bar search input { flex: 1; }
  .to-contents { margin-left: auto; }
  .prose { padding: 1rem; }
  .prose .table tbody :is(th, td) { min-width: 0; }
  .prose .table tbody td:is(:empty) { display: none; }
  .prose dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
  .prose dd { margin-bottom: .4rem; }
  .prose pre { margin-inline: -.5rem; padding-inline: .75rem; }
}
@media (max-width: 40rem) {
  body { overflow-wrap: anywhere; }
  .swagger-ui .opblock .opblock-summary-control { min-width: 0; flex-wrap: wrap; }
  .swagger-ui .opblock .opblock-summary-path { max-width: 100%; }
  .swagger-ui table.parameters, .swagger-ui table.parameters tbody, .swagger-ui table.parameters tr, .swagger-ui table.parameters td { display: block; }
  .swagger-ui table.parameters thead { display: none; }
  .swagger-ui .parameters-col_description input, .swagger-ui .parameters-col_description select { max-width: 100%; min-width: 0; }
  .swagger-ui .opblock-body select { max-width: 100%; min-width: 0; }
  .swagger-ui .opblock .opblock-section-header { flex-wrap: wrap; }
}
`;

/** Runs before the first paint: Swagger UI follows a class, not the reader's preference. */
const THEME_JS = `const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
follow();
dark.addEventListener('change', follow);
`;

const START_JS = `window.SwaggerUIBundle({
  url: '../openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: false,
  validatorUrl: null,
  persistAuthorization: false,
  defaultModelsExpandDepth: 0,
});
`;

/** The small files of the pages, by name. */
export const PAGE_FILES = {
  'page.css': STYLE + DOCS_STYLE,
  'icon.svg': ICON,
  'theme.js': THEME_JS,
  'start.js': START_JS,
  'docs.js': docsScript,
};
