/** Light and dark by the reader's preference; one column on a phone. Contrasts are at least 4.5:1 for text, 3:1 for borders of controls. */
export const STYLE = `:root {
  color-scheme: light dark;
  --text: #1b1f24; --soft: #57606a; --page: #f6f8fa; --card: #fff; --block: #f0f2f5; --line: #d5dae0; --control: #7d8590;
  --link: #0550ae; --accent: #0a58ca; --on-accent: #fff; --good: #116329; --good-back: #dafbe1; --bad: #a40e26; --bad-back: #ffebe9;
  --busy: #7a4b00; --busy-back: #fff3d1;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e4e6e6; --soft: #a2abb5; --page: #15191b; --card: #1f2427; --block: #2a2f33; --line: #363d42; --control: #7d8790;
    --link: #7ab7ff; --accent: #7ab7ff; --on-accent: #0b1f33; --good: #7ee2a0; --good-back: #14331f; --bad: #ff9a94; --bad-back: #45191b;
    --busy: #f0c674; --busy-back: #3b2f12;
  }
}
*, *::before, *::after { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); overflow-wrap: break-word; }
a { color: var(--link); }
h1 { margin: 0 0 1rem; font-size: 1.6rem; line-height: 1.2; }
h2 { margin: 0 0 .6rem; font-size: 1.1rem; line-height: 1.3; }
p { margin: 0 0 .75rem; }
code, pre, textarea { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .875rem; }
pre { margin: 0 0 .75rem; padding: .75rem 1rem; background: var(--block); border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
main:focus { outline: none; }
[hidden] { display: none !important; }
.skip { position: absolute; left: .5rem; top: -4rem; padding: .5rem 1rem; background: var(--card); border-radius: 6px; z-index: 2; }
.skip:focus { top: .5rem; }
.hint, small { color: var(--soft); font-size: .875rem; font-weight: 400; }

.bar { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1.5rem; padding: .5rem max(1rem, calc((100vw - 80rem) / 2)); background: var(--card); border-bottom: 1px solid var(--line); }
.brand { display: flex; align-items: center; gap: .5rem; margin: 0; font-weight: 600; }
.bar button { white-space: nowrap; }
.bar nav { flex: 1; }
.bar ul { display: flex; flex-wrap: wrap; gap: .25rem; margin: 0; padding: 0; list-style: none; }
.bar nav a { display: block; padding: .4rem .7rem; border-radius: 6px; color: var(--text); text-decoration: none; }
.bar nav a:hover { background: var(--block); }
.bar nav a[aria-current] { background: var(--block); font-weight: 600; box-shadow: inset 0 -2px var(--accent); }
main { max-width: 80rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }

.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 14rem), 1fr)); gap: 1rem; margin-bottom: 1.5rem; }
.card { padding: 1rem 1.25rem; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.card > :last-child { margin-bottom: 0; }
.narrow { max-width: 40rem; }
.notice { margin-bottom: 1rem; padding: .75rem 1rem; border-radius: 8px; border-left: 4px solid; color: var(--text); background: var(--block); }
.notice > :last-child { margin-bottom: 0; }
.good { border-color: var(--good); background: var(--good-back); }
.bad { border-color: var(--bad); background: var(--bad-back); }
.notice.bad a { color: inherit; }
.facts { margin: 0; }
.facts div { display: flex; justify-content: space-between; gap: 1rem; padding: .2rem 0; }
.facts dt { flex: none; color: var(--soft); }
.facts dd { min-width: 0; margin: 0; text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.facts.wide-facts { columns: 2 22rem; column-gap: 3rem; margin-bottom: .75rem; }
.wide-facts div { display: grid; grid-template-columns: 9rem minmax(0, 1fr); break-inside: avoid; }
.wide-facts dd { text-align: left; }

button, input, select, textarea { font: inherit; color: inherit; }
button, .button { display: inline-block; padding: .45rem .9rem; border: 1px solid var(--control); border-radius: 6px; background: var(--card); color: var(--text); text-decoration: none; cursor: pointer; }
button:hover, .button:hover { background: var(--block); }
.primary { border-color: var(--accent); background: var(--accent); color: var(--on-accent); font-weight: 600; }
.primary:hover { background: var(--accent); filter: brightness(1.1); }
.danger { border-color: var(--bad); color: var(--bad); }
.quiet { padding: .25rem .6rem; border-color: transparent; background: transparent; font-size: .875rem; }
[data-sending] button[type=submit] { opacity: .7; cursor: progress; }

.table { position: relative; overflow-x: auto; margin-bottom: 1rem; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: .5rem .9rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; font-weight: 400; }
thead th { color: var(--soft); font-size: .875rem; white-space: nowrap; }
tbody tr:last-child > * { border-bottom: 0; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tbody th { overflow-wrap: anywhere; min-width: 12rem; }

.capture { display: grid; gap: 1rem; }
.capture .row .wide { flex-basis: 100%; }
.fields { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 16rem), 1fr)); gap: 1rem 1.5rem; align-items: start; }
.field { min-width: 0; margin: 0; padding: 0; border: 0; }
.wide { grid-column: 1 / -1; }
.field label, .field legend { display: inline-block; margin: 0 .5rem .25rem 0; padding: 0; font-weight: 600; }
.field legend { float: left; }
.field legend + .wire { display: inline-block; margin-top: .3rem; }
.field .choice { clear: left; }
.wire { color: var(--soft); font-size: .75rem; overflow-wrap: anywhere; }
.field .hint, .field .problem { margin: .25rem 0 0; }
.field input[type=text], .field input[type=password], .field input[type=search], [data-find], .field select, .field textarea { width: 100%; padding: .45rem .6rem; border: 1px solid var(--control); border-radius: 6px; background: var(--card); color: var(--text); }
.field input[type=text], .field input[type=search], .field select { min-height: calc(1.5em + .9rem + 2px); }
.field textarea { resize: vertical; }
.field ::placeholder { color: var(--soft); opacity: 1; }
.switch > .wire { grid-column: 2; }
.switch, .choice { display: grid; grid-template-columns: auto 1fr; gap: 0 .5rem; align-items: baseline; }
.switch .hint, .switch .problem { grid-column: 2; }
.switch label, .choice label { margin: 0; }
.choice label { font-weight: 400; }
input[type=checkbox] { width: 1.1rem; height: 1.1rem; margin: 0; accent-color: var(--accent); transform: translateY(.15rem); }
[aria-invalid] { border-color: var(--bad) !important; border-width: 2px !important; }
.problem { color: var(--bad); font-weight: 600; }
summary { cursor: pointer; }
summary h2 { display: inline; margin: 0; }
details[open] > summary { margin-bottom: .75rem; }

.viewer { margin-bottom: .75rem; }
.tools { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .25rem 1rem; margin-bottom: .4rem; font-size: .875rem; }
.zoom { display: flex; align-items: center; gap: .25rem; }
.zoom button { min-width: 2rem; padding: .2rem .55rem; font-size: .875rem; }
.zoom output { min-width: 3.2rem; text-align: center; font-variant-numeric: tabular-nums; }
.picture { display: block; max-height: 80vh; overflow: auto; border: 1px solid var(--line); border-radius: 6px; background: var(--block); }
.picture img { display: block; max-width: 100%; height: auto; margin: 0 auto; }
[data-zoomed] .picture img { max-width: none; cursor: zoom-out; }
.zoom:not([hidden]) { user-select: none; }
.before-after { max-height: 80vh; overflow: auto; margin-bottom: .75rem; border: 1px solid var(--line); border-radius: 6px; background: var(--block); }
.sides { position: relative; display: grid; grid-template-columns: 1fr 1fr; gap: .5rem; align-items: start; }
.sides figure { margin: 0; min-width: 0; }
.sides img { display: block; max-width: 100%; height: auto; }
.sides figcaption { padding: .25rem .6rem; font-size: .875rem; font-weight: 600; }
[data-live-slider] .sides { grid-template-columns: minmax(0, 1fr); }
[data-live-slider] figure { grid-area: 1 / 1; }
[data-live-slider] figure:first-child { z-index: 1; clip-path: inset(0 calc(100% - var(--at)) 0 0); }
[data-live-slider] figure:nth-child(2) figcaption { text-align: right; }
[data-live-slider] .sides::after { content: ''; position: absolute; z-index: 2; top: 0; bottom: 0; left: calc(var(--at) - 1.5px); width: 3px; background: var(--accent); pointer-events: none; }
[data-live-slider] .sides::before { content: '◂ ▸'; position: sticky; z-index: 3; grid-area: 1 / 1; top: calc(40vh - 1rem); left: 0; margin-left: calc(var(--at) - 1.4rem); width: 2.8rem; padding: .15rem 0; border-radius: 1rem; background: var(--accent); color: var(--on-accent); text-align: center; pointer-events: none; }
[data-live-slider] input { position: absolute; z-index: 4; inset: 0; width: 100%; height: 100%; margin: 0; opacity: 0; cursor: ew-resize; touch-action: pan-y; appearance: none; }
[data-live-slider] input::-webkit-slider-thumb { appearance: none; width: 1px; height: 100%; }
[data-live-slider]:has(input:focus-visible) { outline: 3px solid var(--accent); outline-offset: 2px; }

.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr)); gap: 1rem; margin: 0 0 1rem; padding: 0; list-style: none; }
.shot { position: relative; display: flex; flex-direction: column; padding: 0; overflow: hidden; }
.shot:hover { border-color: var(--control); }
.shot > :not(.thumb) { margin: 0 .9rem .4rem; }
.shot > :last-child { margin-bottom: .7rem; }
.shot > p:last-child { margin-top: auto; padding-top: .2rem; }
.shot > a { display: -webkit-box; padding-top: .6rem; overflow: hidden; font-weight: 600; line-height: 1.35; text-decoration: none; overflow-wrap: anywhere; -webkit-box-orient: vertical; -webkit-line-clamp: 2; }
.shot > a::after { content: ''; position: absolute; inset: 0; border-radius: 8px; }
.shot > a:hover { text-decoration: underline; }
.shot:has(a:focus-visible) { outline: 3px solid var(--accent); outline-offset: 2px; }
.shot > a:focus-visible { outline: none; }
.shot > .hint:not(.meta) { overflow: hidden; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; }
.meta { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 .75rem; font-size: .875rem; }
.thumb { display: grid; aspect-ratio: 16 / 9; overflow: hidden; background: var(--block); border-bottom: 1px solid var(--line); }
.thumb img { display: block; width: 100%; height: 100%; object-fit: cover; object-position: top; }
.thumb.part img { object-fit: scale-down; object-position: center; }
.thumb.none { place-items: center; color: var(--soft); font-size: 1.5rem; font-weight: 600; }
.thumb.failed { color: var(--bad); background: var(--bad-back); }
.thumb.busy { color: var(--busy); background: var(--busy-back); }
.size { margin-left: auto; }
.others { position: relative; z-index: 1; font-size: .875rem; }
.others ul { margin: 0; padding: 0 0 0 1.2rem; }
.others summary { color: var(--link); }
.shot:has(.others) { box-shadow: 4px 4px 0 -1px var(--card), 4px 4px 0 0 var(--line); }
.empty { padding: 3rem 1rem; text-align: center; }
.history { margin-bottom: 1.5rem; }
.history svg { display: block; width: 100%; height: 8rem; border-bottom: 1px solid var(--control); }
.history svg .taken { fill: var(--accent); }
.history svg .shared { fill: var(--control); }
.history svg .failed { fill: var(--bad); }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; }
.legend span::before { content: ''; display: inline-block; width: .8rem; height: .8rem; margin-right: .4rem; border-radius: 2px; background: var(--accent); }
.legend .shared::before { background: var(--control); }
.legend .failed::before { background: var(--bad); }
.axis { display: flex; justify-content: space-between; margin: .25rem 0 .5rem; }

.presets { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem; margin: 1rem 0 0; }
.presets .button { border-color: var(--line); }
.aside { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1rem; min-width: 0; align-content: start; }
.frame { display: grid; min-height: 9rem; margin-bottom: .75rem; place-items: center; border: 1px dashed var(--line); border-radius: 6px; overflow: hidden; background: var(--block); }
.frame > * { margin: .5rem; }
.frame img { display: block; max-width: 100%; height: auto; }
.frame[aria-busy] { opacity: .5; }
.frame .hint { margin: .5rem .75rem; }
.preview .row { align-items: center; gap: .5rem 1rem; margin: 0 0 .5rem; }
.preview .row button { margin: 0; }
.tabs { display: flex; flex-wrap: wrap; gap: 0; margin: 0 0 .75rem; padding: 0; border: 0; border-bottom: 1px solid var(--line); }
.tabs input { position: absolute; opacity: 0; pointer-events: none; }
.tabs label { padding: .3rem .7rem; border-radius: 6px 6px 0 0; color: var(--soft); cursor: pointer; }
.tabs input:checked + label { color: var(--text); font-weight: 600; box-shadow: inset 0 -2px var(--accent); }
.tabs input:focus-visible + label { outline: 3px solid var(--accent); }
.snippet { display: none; position: relative; }
.snippets:has([value=curl]:checked) [data-language=curl], .snippets:has([value=javascript]:checked) [data-language=javascript], .snippets:has([value=python]:checked) [data-language=python], .snippets:has([value=cli]:checked) [data-language=cli] { display: block; }
.snippet .quiet { border-color: var(--line); }
#snippet-problem { margin: .5rem 0 0; }
#snippet-problem:empty { display: none; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: .75rem 2.5rem; }
.cards:empty { display: none; }
.options { min-width: 0; padding: 0; }
.options-head { display: flex; flex-wrap: wrap; align-items: baseline; gap: .5rem 1rem; padding: 1rem 1.25rem .75rem; }
.options-head h2 { margin: 0; }
[data-find] { flex: 1; min-width: 12rem; }
.options-head [data-set] { flex-basis: 100%; margin: 0; }
[data-set] a + a::before { content: ', '; display: inline-block; white-space: pre; }
.options details { border-top: 1px solid var(--line); }
.options summary { display: flex; align-items: baseline; gap: .75rem; padding: .6rem 1.25rem; }
.options summary::before { content: '▸'; color: var(--soft); }
.options [open] > summary::before { content: '▾'; }
.options summary:hover { background: var(--block); }
.options summary h3 { flex: none; margin: 0; }
.options summary .hint { flex: 1; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.options [open] > summary .hint { visibility: hidden; }
.options .fields { padding: .25rem 1.25rem 1.25rem; }
.go { display: flex; align-items: flex-end; gap: .75rem; }
.go .field { flex: 1; }
.go .primary { padding: .55rem 1.2rem; }
.go input[type=text] { padding: .55rem .75rem; font-size: 1.0625rem; }
@media (min-width: 64rem) {
  .capture { grid-template-columns: minmax(0, 1fr) 26rem; grid-auto-flow: dense; align-items: start; }
  .capture > :not(.aside, .options) { grid-column: 1 / -1; }
  .capture > .aside { grid-column: 2; position: sticky; top: 1rem; }
  .capture > .options { grid-column: 1; }
}
progress { width: 100%; accent-color: var(--accent); }

.stack { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1rem; min-width: 0; }
.filter, .row { display: flex; flex-wrap: wrap; align-items: start; gap: .75rem 1.25rem; }
.filter { align-items: end; }
.row { margin-bottom: 1.5rem; }
.card .row { margin: 1rem 0 0; }
.filter .field, .row .field { flex: 0 1 13rem; }
.row .wide { flex: 1 1 18rem; }
.card > .row:first-child { margin: 0; }
.row button, .row .switch { margin-top: 1.9rem; }
.first .field { flex: 0 1 11rem; }
.first .switch { flex: none; }
.filter .address { flex: 1 1 16rem; }
.pages { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1.5rem; margin-top: .75rem; }
.state { display: inline-block; padding: 0 .5rem; border-radius: 1rem; background: var(--block); color: var(--text); font-size: .875rem; white-space: nowrap; }
.state.good { background: var(--good-back); color: var(--good); }
.state.bad { background: var(--bad-back); color: var(--bad); }
.state.busy { background: var(--busy-back); color: var(--busy); }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
h3 { margin: 0 0 .4rem; font-size: 1rem; }
.stages th { min-width: 0; overflow-wrap: normal; }
.stages th, .stages td { padding: .15rem .5rem .15rem 0; border: 0; vertical-align: middle; }
.stages td:last-child { width: 55%; padding-right: 0; }
.stages progress { display: block; height: .7rem; }
.use { display: flex; flex-wrap: wrap; gap: 0 1rem; }
tbody td { min-width: 6.5rem; }
.stages td { min-width: 0; }
.confirm summary { color: var(--bad); white-space: nowrap; }
.use form { margin-top: .5rem; }
.use .field { margin-bottom: .5rem; }
@media (max-width: 48rem) {
  .bar { justify-content: space-between; }
  .bar nav { order: 1; flex-basis: 100%; }
  .bar nav ul { justify-content: space-between; gap: 0; }
  .bar nav a { padding: .4rem .3rem; }
  .row button, .row .switch { margin-top: 0; }
  h1 { font-size: 1.35rem; }
  .go { flex-wrap: wrap; }
  .go .field, .go .primary { flex: 1 1 100%; }
  .row.first .field { flex: 1 1 40%; }
  .options summary .hint { display: none; }
  .options summary h3 { flex: 0 1 auto; }
  .wide-facts div { grid-template-columns: 7.5rem minmax(0, 1fr); }
  .row .field { flex: 1 1 100%; }
  .filter .field { flex: 1 1 7rem; }
  .stacked thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .stacked, .stacked tbody, .stacked tr, .stacked th, .stacked td { display: block; }
  .stacked tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
  .stacked tr:last-child { border-bottom: 0; }
  .stacked th, .stacked td { min-width: 0; padding: .15rem .9rem; border: 0; text-align: left; }
  .stacked [data-name]::before { content: attr(data-name) ": "; color: var(--soft); }
}
@media (max-width: 26rem) { .bar nav a { padding: .4rem .2rem; font-size: .875rem; } }

.watches, .film, .strip { margin: 0; padding: 0; list-style: none; }
.watches { display: grid; gap: 1rem; }
.watch { display: grid; grid-template-columns: 10rem minmax(0, 1fr); gap: 1rem; }
.watch h2, .watch p { margin: 0 0 .4rem; overflow-wrap: anywhere; }
.watch img, .film img { max-width: 100%; height: auto; }
.strip { display: flex; flex-wrap: wrap; gap: .2rem; }
.strip li { width: .8rem; height: .8rem; padding: 0; border: 1px solid currentColor; border-radius: .2rem; }
.film { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: 1rem; }
.film p { margin: .25rem 0; overflow-wrap: anywhere; }

.live { display: flex; align-items: center; justify-content: space-between; gap: 1rem; min-height: 2rem; margin-bottom: .5rem; }
.live p { margin: 0; color: var(--soft); font-size: .875rem; }
`;

/** A picture that says why there is none. @param text of this program, not of a page */
export function placeholder(text: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 180" width="320" height="180"><style>text{fill:#57606a;font:16px system-ui,sans-serif}@media(prefers-color-scheme:dark){text{fill:#a2abb5}}</style><text x="160" y="95" text-anchor="middle">${text}</text></svg>`;
}

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0a58ca"/><g fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round"><path d="M8 12V8h4M20 8h4v4M24 20v4h-4M12 24H8v-4"/><circle cx="16" cy="16" r="4"/></g></svg>`;
