/** The permitted outcomes of each hostile page. `ok` stands for a picture, which must show something. */
export interface HostileCase {
  path: string;
  ends: readonly string[];
  wish?: Record<string, unknown>;
}

/** Pages that can be pictured, unless they were too slow for the time they had. */
const PICTURED = 'ok render_timeout';
/** The same, where the page may also cost its browser page its life. */
const HEAVY = 'ok render_timeout render_crashed';

/** By outcomes: paths, those below /hostile/ without it. */
const PATHS: [ends: string, paths: string][] = [
  [
    'navigation_failed',
    '/loop /redirect-to-file /reset /pdf /video /audio /download /unknown-type /no-content /reset-content /bad-gzip',
  ],
  ['navigation_failed', 'redirects to-dead-port huge-headers /zero'],
  ['navigation_failed render_incomplete', 'garbage /to-blank'],
  ['render_incomplete', '/empty /blank /blank-boxes emptied spaces white-cover'],
  [`render_incomplete ${PICTURED}`, '/gzip-bomb'],
  ['blocked_by_target', 'basic-auth'],
  ['target_error', '/status/500 /status/404'],
  [`navigation_failed ${PICTURED}`, '/half to-browser-pages /mail-to /self-download mixed-replace'],
  [
    'render_timeout',
    '/hang /busy-at-once /busy-later /regex /alert-flood /drip /hung-script /hung-frame /hung-image /reload-loop script-chain',
  ],
  ['render_timeout navigation_failed', 'slow-headers'],
  [
    PICTURED,
    '/hung-font /hung-pixel /long-poll /streams /leave /popups /downloads /debugger /print /console-flood /mutation-flood',
  ],
  [
    PICTURED,
    '/prototypes /clobbered /tall /image-bomb /endless /workers stay close auth-parts prompts wide prints fetch-flood',
  ],
  [PICTURED, 'service-worker media-hung scroll-fight css-vars'],
  [
    HEAVY,
    '/many-nodes /memory deep-html png-bomb canvases storage microtasks socket-flood worker-nest webgl css-layers svg-uses',
  ],
  [HEAVY, 'frames-many frames-deep'],
  [`${HEAVY} render_incomplete`, 'css-filters frames-flood write-forever'],
  [`${HEAVY} render_incomplete navigation_failed`, 'bomb.png'],
  ['navigation_failed render_timeout render_crashed', 'entities'],
];
const cases = (ends: string, paths: string, wish?: HostileCase['wish']): HostileCase[] =>
  paths.split(' ').map((path) => ({
    path: path.startsWith('/') ? path : `/hostile/${path}`,
    ends: ends.split(' '),
    ...(wish === undefined ? {} : { wish }),
  }));

export const HOSTILE_CASES: readonly HostileCase[] = [
  ...PATHS.flatMap(([ends, paths]) => cases(ends, paths)),
  ...cases(HEAVY, '/tall /endless wide scroll-fight /many-nodes', { full_page: true, format: 'png' }),
  ...cases(HEAVY, '/endless /busy-later prints', { format: 'pdf' }),
];

const FEW = cases(
  '',
  '/pdf /zero /blank /hang /busy-at-once /busy-later /regex /alert-flood /debugger /print /popups /downloads /console-flood /image-bomb ' +
    '/workers /memory emptied redirects to-dead-port microtasks basic-auth prompts',
).map(({ path }) => path);
/** A few of each kind, for the tests of every day. */
export const FEW_CASES: readonly HostileCase[] = HOSTILE_CASES.filter(
  ({ path, wish }) => wish === undefined && FEW.includes(path),
);
