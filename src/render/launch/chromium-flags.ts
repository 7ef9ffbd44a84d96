/**
 * How Chromium is started: locked down as far as its flags go without changing what pages look like
 * (decisions.md, Destinations; Capture semantics), and the same picture every time.
 */

export interface FlagOptions {
  profile: string;
  sandbox: boolean;
  /** For whatever no session overrides: script requests of workers among them. */
  userAgent: string | null;
  /** Whether shared memory may lie in /dev/shm. */
  roomyShm: boolean;
}

export function chromiumFlags(options: FlagOptions): string[] {
  return [
    '--headless',
    // The only way in is the pipe we hold: no debugging port.
    '--remote-debugging-pipe',
    '--no-startup-window',
    `--user-data-dir=${options.profile}/data`,
    ...(options.sandbox ? [] : ['--no-sandbox']),
    ...(options.userAgent === null ? [] : [`--user-agent=${options.userAgent}`]),
    ...(options.roomyShm ? [] : ['--disable-dev-shm-usage']),
    ...NETWORK,
    ...SILENCE,
    ...PICTURE,
    ...SPEED,
    `--disable-features=${DISABLED_FEATURES.join(',')}`,
    `--enable-features=${ENABLED_FEATURES.join(',')}`,
  ];
}

/** Every context is given a proxy of its own; whatever is not goes to a port where nobody answers. */
const NETWORK = [
  '--proxy-server=http://127.0.0.1:1',
  '--proxy-bypass-list=<-loopback>',
  // The gate resolves names, Chromium never does.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
  '--disable-quic',
  // Full Chromium knows the first spelling, the headless shell the second.
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--no-pings',
];

/** Nothing of Chromium's own: no updates, reports, experiments, accounts, prompts or windows. */
const SILENCE = [
  '--disable-background-networking',
  '--disable-breakpad',
  '--disable-client-side-phishing-detection',
  '--disable-component-extensions-with-background-pages',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-domain-reliability',
  '--disable-extensions',
  '--disable-field-trial-config',
  '--disable-hang-monitor',
  '--disable-infobars',
  '--disable-prompt-on-repost',
  '--disable-search-engine-choice-screen',
  '--disable-stack-profiler',
  '--disable-sync',
  '--disable-updater-scheduler',
  '--metrics-recording-only',
  '--no-default-browser-check',
  '--no-first-run',
  '--no-service-autorun',
  '--password-store=basic',
  '--use-mock-keychain',
  '--deny-permission-prompts',
  // Popups are refused (decisions.md, Capture semantics): the shell's flag; full Chromium's are refused as they attach.
  '--block-new-web-contents',
  '--disable-blink-features=AutomationControlled',
];

/** The same page gives the same pixels. */
const PICTURE = [
  '--force-color-profile=srgb',
  '--font-render-hinting=none',
  '--hide-scrollbars',
  '--mute-audio',
  '--lang=en-US',
  '--accept-lang=en-US,en',
  // A machine without a pointer looks like one with a mouse: hover styles and fine pointers, as on a desk. Animated pictures show their first frame.
  '--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4,imageAnimationPolicy=2',
  // WebGL without a graphics card.
  '--enable-unsafe-swiftshader',
  '--disable-back-forward-cache',
];

/** Measured (design.md): one raster thread and no spare renderer gain 8 to 10 % each where several pages share few cores. */
const SPEED = [
  '--num-raster-threads=1',
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  '--allow-pre-commit-input',
];

const DISABLED_FEATURES = [
  'AcceptCHFrame',
  'AimEnabled',
  'AutofillServerCommunication',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'DialMediaRouteProvider',
  // A page given as http is captured as http.
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  // The first paint shows the page, not what was there before.
  'PaintHolding',
  'PreconnectToSearch',
  // Nothing is fetched, resolved or run that the page in view did not ask for.
  'LoadingPredictorUseLocalPredictions',
  'NavigationPredictor',
  'Prerender2',
  'SpeculativeServiceWorkerWarmUp',
  'SpareRendererForSitePerProcess',
  'ThirdPartyStoragePartitioning',
  'Translate',
];

/** Not CDPScreenshotNewSurface, which Playwright enables: with it one capture in 120 failed ("Unable to capture screenshot"), without it none. */
const ENABLED_FEATURES = ['SkipListAccountsWithoutGaiaCookies'];
