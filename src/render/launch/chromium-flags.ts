/**
 * Chromium's flags: as restrictive as possible without changing the appearance of pages (decisions.md, Destinations; Capture
 * semantics), and deterministic.
 */

interface FlagOptions {
  profile: string;
  sandbox: boolean;
  /** The user agent of requests that no session overrides, such as those for worker scripts. */
  userAgent: string | null;
  /** Whether /dev/shm may be used for shared memory. */
  roomyShm: boolean;
  /** Whether the browser draws only on demand (see FrameSource). */
  drawsOnDemand: boolean;
}

export function chromiumFlags(options: FlagOptions): string[] {
  return [
    '--headless',
    // The pipe is the only connection; there is no debugging port.
    '--remote-debugging-pipe',
    '--no-startup-window',
    `--user-data-dir=${options.profile}/data`,
    ...(options.sandbox ? [] : ['--no-sandbox']),
    ...(options.userAgent === null ? [] : [`--user-agent=${options.userAgent}`]),
    ...(options.roomyShm ? [] : ['--disable-dev-shm-usage']),
    ...NETWORK,
    ...SILENCE,
    ...PICTURE,
    // Without it, the browser exits when its GPU process has been killed six times.
    '--disable-gpu-process-crash-limit',
    ...SPEED,
    ...(options.drawsOnDemand ? ON_DEMAND : []),
    `--disable-features=${DISABLED_FEATURES.join(',')}`,
    // CDPScreenshotNewSurface, which Playwright 1.65 enables, is omitted: with it, one capture in 120 failed ("Unable to capture
    // screenshot"); without it, none.
    '--enable-features=SkipListAccountsWithoutGaiaCookies',
  ];
}

/** Every context has its own proxy; all other requests go to a port without a listener. */
const NETWORK = [
  '--proxy-server=http://127.0.0.1:1',
  '--proxy-bypass-list=<-loopback>',
  // Only the proxy resolves names.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
  '--disable-quic',
  // Full Chromium supports the first form, the headless shell the second.
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--no-pings',
];

/** Disables Chromium's own activities: updates, reports, experiments, accounts, prompts and windows. */
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
  // Blocks popups (decisions.md, Capture semantics) in the headless shell; those of full Chromium are closed as they attach.
  '--block-new-web-contents',
  '--disable-blink-features=AutomationControlled',
];

/** Flags for deterministic pixels. */
const PICTURE = [
  '--force-color-profile=srgb',
  '--font-render-hinting=none',
  '--hide-scrollbars',
  '--mute-audio',
  '--lang=en-US',
  '--accept-lang=en-US,en',
  // Emulates a mouse on machines without one (hover styles, fine pointer). Animated images show their first frame.
  // The last one lets our programs begin in documents without scripts as well, as the protocol's domain Runtime would.
  '--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4,imageAnimationPolicy=2,forceMainWorldInitialization=true',
  // Enables WebGL without a GPU.
  '--enable-unsafe-swiftshader',
  '--disable-back-forward-cache',
  // Smooth scrolling by a script ends at once: no clock of a page moves it.
  '--disable-smooth-scrolling',
  // Otherwise, large images that have just come into view are missing from a picture.
  '--disable-checker-imaging',
];

/** Measured: one raster thread and no spare renderer gain 8 to 10 % each if several pages share few cores. */
const SPEED = [
  '--num-raster-threads=1',
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  '--allow-pre-commit-input',
];

/** Frames are drawn only when they are asked for, and completely: without limits that would end them early. */
const ON_DEMAND = ['--enable-begin-frame-control', '--run-all-compositor-stages-before-draw'];

const DISABLED_FEATURES = [
  'AcceptCHFrame',
  'AimEnabled',
  'AutofillServerCommunication',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'DialMediaRouteProvider',
  // Keeps http URLs from being upgraded to https.
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  // Makes the first paint show the new page, not the previous one.
  'PaintHolding',
  'PreconnectToSearch',
  // Disables prefetching, prerendering and preconnecting.
  'LoadingPredictorUseLocalPredictions',
  'NavigationPredictor',
  'Prerender2',
  'SpeculativeServiceWorkerWarmUp',
  'SpareRendererForSitePerProcess',
  'ThirdPartyStoragePartitioning',
  'Translate',
];
