/** The permitted outcomes of each hostile page. `ok` stands for a picture, which must show something. */

export interface HostileCase {
  path: string;
  ends: readonly string[];
  wish?: Record<string, unknown>;
}

const TIMEOUT = ['render_timeout'];
const FAILED = ['navigation_failed'];
const BLANK = ['render_incomplete'];
/** Pages that can be pictured, unless they were too slow for the time they had. */
const PICTURED = ['ok', 'render_timeout'];
/** The same, where the page may also cost its browser page its life. */
const HEAVY = ['ok', 'render_timeout', 'render_crashed'];

const cases = (ends: readonly string[], paths: string): HostileCase[] =>
  paths
    .trim()
    .split(/\s+/)
    .map((path) => ({ path, ends }));

export const HOSTILE_CASES: readonly HostileCase[] = [
  ...cases(FAILED, '/loop /redirect-to-file /reset /pdf /video /audio /download /unknown-type /no-content /reset-content /bad-gzip'),
  ...cases(FAILED, '/hostile/redirects /hostile/to-dead-port /hostile/huge-headers /zero'),
  ...cases([...FAILED, ...BLANK], '/hostile/garbage /to-blank'),
  ...cases(BLANK, '/empty /blank /blank-boxes /hostile/emptied /hostile/spaces /hostile/white-cover'),
  ...cases([...BLANK, ...PICTURED], '/gzip-bomb'),
  ...cases(['blocked_by_target'], '/hostile/basic-auth'),
  ...cases(['target_error'], '/status/500 /status/404'),
  ...cases([...FAILED, 'ok', ...TIMEOUT], '/half /hostile/half-chunk /hostile/to-browser-pages /hostile/to-data /mail-to /self-download'),
  ...cases(TIMEOUT, '/hang /busy-at-once /busy-later /regex /alert-flood /drip /hung-script /hung-frame /hung-image /reload-loop'),
  ...cases([...TIMEOUT, ...FAILED], '/hostile/slow-headers /hostile/slow-chain'),
  ...cases(TIMEOUT, '/hostile/meta-chain /hostile/script-chain /hostile/refresh-self /hostile/write-at-once /hostile/strings'),
  ...cases([...TIMEOUT, 'ok', ...FAILED], '/hostile/mixed-replace /hostile/early-hints /hostile/no-such-charset'),
  ...cases(PICTURED, '/hung-font /hung-pixel /long-poll /streams /alerts /leave /popups /downloads /debugger /print /permissions'),
  ...cases(PICTURED, '/console-flood /history-flood /mutation-flood /prototypes /clobbered /tall /image-bomb /endless /workers'),
  ...cases(PICTURED, '/hostile/stay /hostile/close /hostile/auth-parts /hostile/bad-encoding /hostile/long-line /hostile/prompts'),
  ...cases(PICTURED, '/hostile/wide /hostile/title-flood /hostile/hash-flood /hostile/message-flood /hostile/prints /hostile/fetch-flood'),
  ...cases(PICTURED, '/hostile/service-worker /hostile/fonts-hung /hostile/media-hung /hostile/scroll-fight /hostile/css-vars'),
  ...cases(HEAVY, '/many-nodes /memory /hostile/deep-json /hostile/deep-html /hostile/nested-tables /hostile/png-bomb'),
  ...cases(HEAVY, '/hostile/canvases /hostile/wasm-memory /hostile/storage /hostile/microtasks /hostile/frames-thrash'),
  ...cases(HEAVY, '/hostile/socket-flood /hostile/worker-busy /hostile/worker-nest /hostile/webgl /hostile/css-has /hostile/css-layers'),
  ...cases(HEAVY, '/hostile/svg-filters /hostile/svg-uses /hostile/frames-many /hostile/frames-deep'),
  ...cases([...HEAVY, ...BLANK], '/hostile/css-filters /hostile/frames-flood /hostile/write-forever'),
  ...cases([...HEAVY, ...BLANK, ...FAILED], '/hostile/bomb.png'),
  ...cases([...FAILED, ...TIMEOUT, 'render_crashed'], '/hostile/entities'),
  ...['/tall', '/endless', '/hostile/wide', '/hostile/scroll-fight', '/many-nodes'].map((path) => ({
    path,
    ends: HEAVY,
    wish: { full_page: true, format: 'png' },
  })),
  ...['/endless', '/busy-later', '/hostile/prints'].map((path) => ({ path, ends: HEAVY, wish: { format: 'pdf' } })),
];

const FEW = [
  ...['/pdf', '/zero', '/blank', '/hang', '/busy-at-once', '/busy-later', '/regex', '/alert-flood', '/debugger', '/print', '/popups'],
  ...['/downloads', '/console-flood', '/image-bomb', '/workers', '/memory'],
  ...['emptied', 'redirects', 'to-dead-port', 'microtasks', 'basic-auth', 'prompts'].map((name) => `/hostile/${name}`),
];
/** A few of each kind, for the tests of every day. */
export const FEW_CASES: readonly HostileCase[] = HOSTILE_CASES.filter(({ path, wish }) => wish === undefined && FEW.includes(path));
