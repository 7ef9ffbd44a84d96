/** Light and dark by the reader's preference; one column on a phone. Contrasts are at least 4.5:1 for text, 3:1 for borders of controls. */
export const STYLE = `:root {
  color-scheme: light dark;
  --text: #1b1f24; --soft: #57606a; --page: #f6f8fa; --card: #fff; --block: #f0f2f5; --line: #d5dae0; --edge: #7d8590;
  --link: #0550ae; --accent: #0a58ca; --on-accent: #fff; --good: #116329; --good-back: #dafbe1; --bad: #a40e26; --bad-back: #ffebe9;
  --busy: #7a4b00; --busy-back: #fff3d1;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e4e6e6; --soft: #a2abb5; --page: #15191b; --card: #1f2427; --block: #2a2f33; --line: #363d42; --edge: #7d8790;
    --link: #7ab7ff; --accent: #7ab7ff; --on-accent: #0b1f33; --good: #7ee2a0; --good-back: #14331f; --bad: #ff9a94; --bad-back: #45191b;
    --busy: #f0c674; --busy-back: #3b2f12;
  }
}
*, *::before, *::after { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); overflow-wrap: anywhere; }
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
.bar nav { flex: 1; }
.bar ul { display: flex; flex-wrap: wrap; gap: .25rem; margin: 0; padding: 0; list-style: none; }
.bar nav a { display: block; padding: .4rem .7rem; border-radius: 6px; color: var(--text); text-decoration: none; }
.bar nav a:hover { background: var(--block); }
.bar nav a[aria-current] { background: var(--block); font-weight: 600; box-shadow: inset 0 -2px var(--accent); }
main { max-width: 80rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }

.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 16rem), 1fr)); gap: 1rem; margin-bottom: 1.5rem; }
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
.facts dt { color: var(--soft); }
.facts dd { margin: 0; text-align: right; font-variant-numeric: tabular-nums; }

button, input, select, textarea { font: inherit; color: inherit; }
button, .button { display: inline-block; padding: .45rem .9rem; border: 1px solid var(--edge); border-radius: 6px; background: var(--card); color: var(--text); text-decoration: none; cursor: pointer; }
button:hover, .button:hover { background: var(--block); }
.primary { border-color: var(--accent); background: var(--accent); color: var(--on-accent); font-weight: 600; }
.primary:hover { background: var(--accent); filter: brightness(1.1); }
.danger { border-color: var(--bad); color: var(--bad); }
.quiet { padding: .25rem .6rem; border-color: transparent; background: transparent; font-size: .875rem; }
[data-sending] button[type=submit] { opacity: .7; cursor: progress; }

.table { overflow-x: auto; margin-bottom: 1rem; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: .5rem .9rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; font-weight: 400; }
thead th { color: var(--soft); font-size: .875rem; white-space: nowrap; }
tbody tr:last-child > * { border-bottom: 0; }
.number { text-align: right; font-variant-numeric: tabular-nums; }

.live { display: flex; align-items: center; gap: 1rem; min-height: 2rem; margin-bottom: .5rem; }
.live p { margin: 0; color: var(--soft); font-size: .875rem; }
`;
