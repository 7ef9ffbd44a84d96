import { ICON, STYLE } from '../console/style.js';

const DOCS_STYLE = `.home { max-width: 62rem; margin: 0 auto; }
.home h1 { font-size: 2rem; margin: 1rem 0 0; }
.lead { max-width: 44rem; margin: 0 0 .5rem; color: var(--soft); font-size: 1.1rem; }
.ways { margin: 0; padding: 0; list-style: none; }
.ways h2 a { text-decoration: none; }
.ways h2 a::after { content: ' →'; }
.ways h2 a:hover { text-decoration: underline; }
.ways p { color: var(--soft); }
.docs { display: grid; grid-template-columns: 13rem minmax(0, 1fr); gap: 2rem; align-items: start; }
.docs nav { position: sticky; top: 1rem; }
.docs nav ul { margin: 0; padding: 0; list-style: none; }
.docs nav a { display: block; padding: .25rem .7rem; border-radius: 6px; color: var(--text); text-decoration: none; }
.docs nav a:hover { background: var(--block); }
.docs nav a[aria-current] { background: var(--block); font-weight: 600; box-shadow: inset 2px 0 var(--accent); }
.docs .stack { grid-template-columns: minmax(0, 1fr); }
.docs h1 { margin: 0; }
.bar search { flex: 1; }
search form { display: flex; gap: .5rem; justify-content: flex-end; }
search input { flex: 0 1 20rem; min-width: 0; padding: .45rem .6rem; border: 1px solid var(--control); border-radius: 6px; background: var(--card); }
.prose { overflow-wrap: anywhere; }
.prose h2 { margin: 2rem 0 .6rem; font-size: 1.3rem; }
.prose h3 { margin: 1.5rem 0 .4rem; font-size: 1.1rem; }
.prose > :first-child { margin-top: 0; }
.prose img { display: block; max-width: 100%; height: auto; }
.prose .table th { min-width: 0; font-weight: 600; white-space: normal; }
.prose dt { font-weight: 600; }
.prose dd { margin: 0 0 .5rem; }
.prose :not(pre) > code { padding: .1em .3em; border-radius: 4px; background: var(--block); }
:target { background: var(--busy-back); }
:root.dark-mode .swagger-ui { background: none; }
.swagger-ui .wrapper { padding: 0; }
.swagger-ui .info .title small { background: #57606a; }
.swagger-ui .info .title small.version-stamp { background: #2f6f2f; }
.swagger-ui .info .title small pre { color: #fff; background: none; }
.swagger-ui .info { margin: 1rem 0; }
.swagger-ui .scheme-container { padding: 0; background: none; box-shadow: none; }
.swagger-ui tbody th, .swagger-ui tbody td, .swagger-ui thead th { min-width: 0; white-space: normal; }
#api > h2 { font-size: 1.3rem; }
@media (max-width: 60rem) {
  .docs { grid-template-columns: minmax(0, 1fr); gap: 1rem; }
  .docs nav { position: static; }
  .docs nav ul { display: flex; flex-wrap: wrap; }
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
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: false,
  validatorUrl: null,
  persistAuthorization: false,
  defaultModelsExpandDepth: 0,
});
// The sections below move while the endpoints are rendered: keep the one that the URL names in view until the reader interacts.
const keeping = new ResizeObserver(() => document.getElementById(location.hash.slice(1))?.scrollIntoView());
keeping.observe(document.getElementById('swagger-ui'));
for (const deed of ['pointerdown', 'wheel', 'keydown', 'touchstart']) addEventListener(deed, () => keeping.disconnect(), { once: true });
`;

/** The small files of the pages, by name. */
export const PAGE_FILES = { 'page.css': STYLE + DOCS_STYLE, 'icon.svg': ICON, 'theme.js': THEME_JS, 'start.js': START_JS };
