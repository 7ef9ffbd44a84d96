/**
 * Replaces a page's timers, frames and times, in real time until a command runs them ahead or holds them. Runs in the main world of every
 * frame, dedicated and shared worker before the page's scripts, using only native functions saved before the page can replace them.
 */

/** A request to run the page's time ahead by `ms`. `realMs` limits the real time that this may take. */
export interface ClockRequest {
  ms: number;
  realMs: number;
  /** Whether the clock begins at 0 and stands from now on, but for runs. */
  hold?: boolean;
}

/** The page's own report of its clock, which a page can forge. */
export interface ClockState {
  /** ms of the page's time until the next timer or animation frame; null if there is none. */
  nextMs: number | null;
  /** The delay of animation frames since the last report, in ms: callbacks take real time, which is the page's as well. */
  lateMs: number;
}

interface Timer {
  id: number;
  run: (deadline: IdleDeadline) => void;
  /** When it is due, in ms of the page's time. */
  due: number;
  /** The interval in ms; null for a timeout. */
  every: number | null;
  nesting: number;
  native: number;
  /** The options of an idle callback; null for others. */
  idle: IdleRequestOptions | null;
}

/** The HTML standard's nesting level from which each nested timer waits at least 4 ms. */
const NESTING_CLAMPED = 5;
const NESTED_MIN_MS = 4;
const FRAME_MS = 1_000 / 60;
const DELAY_MAX_MS = 2_147_483_647;
/** The page's time that passes before an idle callback, and the longest that it may take. */
const IDLE_AFTER_MS = 1;
const IDLE_MAX_MS = 50;
/** In real time: full Chromium 156 attaches our session to a new worker late, and until then the worker's clock cannot run ahead. */
const WORKER_ATTACHES_MS = 250;

/**
 * Installs the clock in this frame. Events pass through `performance`, whose listeners survive `document.open()`.
 * @param runEvent the name of the event that requests a run ahead, with a ClockRequest; it is canceled as acknowledgement, and
 * the event `<ask>-done` has the ClockState. Only our isolated world knows the name.
 */
export function install(runEvent: string): void {
  const { apply } = Reflect;
  const { then } = Promise.prototype;
  const { dispatchEvent } = EventTarget.prototype;
  const { preventDefault } = Event.prototype;
  const detailOf = getterOf(CustomEvent.prototype, 'detail');
  const NativeEvent = CustomEvent;
  const page = performance;
  // A frame's first document shares its window with the empty one before it, which already has the clock.
  if (!page.dispatchEvent(new NativeEvent(runEvent, { cancelable: true, detail: null }))) return;
  const run = replaceClock();
  page.addEventListener(runEvent, (event) => {
    apply(preventDefault, event, []);
    const request: ClockRequest | null = apply(detailOf, event, []);
    const ran = request === null ? null : run(request);
    if (ran !== null)
      apply(then, ran, [
        (detail: ClockState) => apply(dispatchEvent, page, [new NativeEvent(`${runEvent}-done`, { detail })]),
      ]);
  });
}

/**
 * Replaces the clock of this global object.
 * @returns the function that runs it ahead; it returns null while a run is in progress
 */
export function replaceClock(): (request: ClockRequest) => Promise<ClockState> | null {
  const { apply, construct } = Reflect;
  const { round } = Math;
  const NativeDate = Date;
  const nativeNow = NativeDate.now;
  const page = performance;
  const nativePerformanceNow = Performance.prototype.now;
  const nativeSetTimeout = setTimeout;
  const nativeClearTimeout = clearTimeout;
  // Workers have none.
  const { requestIdleCallback: nativeIdleRequest, cancelIdleCallback: nativeIdleCancel } = globalThis;
  // A worker that asks for frames and then stops holds up those of its page for good in a browser that draws on demand (Chromium 156, test/render/pool/frames-on-demand.test.ts).
  const nativeFrameRequest =
    'document' in globalThis
      ? requestAnimationFrame
      : (run: FrameRequestCallback) => nativeSetTimeout(() => run(realNow()), FRAME_MS);
  const nativeReport = reportError;
  const timeStampOf = getterOf(Event.prototype, 'timeStamp');
  const { postMessage } = MessagePort.prototype;
  const NativePromise = Promise;
  const { then } = NativePromise.prototype;
  // biome-ignore lint/security/noGlobalEval: what a page gives as code is run as the browser would, under its content policy
  const evaluate = globalThis.eval;
  const { port1, port2 } = new MessageChannel();

  const timers = new Map<number, Timer>();
  const { get, set, delete: remove, forEach } = Map.prototype;
  let frames: { id: number; run: FrameRequestCallback | null }[] = [];
  let flushing: typeof frames = [];
  let lastTimerId = 0;
  let lastFrameId = 0;
  let lastFrameAt = 0;
  let frameDueAt = 0;
  let lateMs = 0;
  let nativeFrame = false;
  let nesting = 0;
  let offset = 0;
  let isAhead = false;
  let workersAttachedAt = 0;
  /** The page's time in ms if the clock is held, and the date at its start. */
  let held: number | null = null;
  let heldSince = 0;

  const realNow = () => apply(nativePerformanceNow, page, []);
  const now = () => held ?? realNow() + offset;
  const dateNow = () => round(held === null ? nativeNow() + offset : heldSince + held);
  function moveTo(time: number): void {
    if (held !== null) held = Math.max(held, time);
    else offset += Math.max(0, time - now());
  }

  function call(run: () => void): void {
    try {
      run();
    } catch (error) {
      nativeReport(error);
    }
  }

  function arm(timer: Timer): void {
    const isDue = (deadline?: IdleDeadline) => {
      if (!isAhead) fire(timer, deadline);
    };
    if (held !== null && timer.due > held) return;
    if (timer.idle === null) timer.native = Number(nativeSetTimeout(isDue, timer.due - now()));
    else timer.native = nativeIdleRequest(isDue, timer.idle);
  }

  function disarm({ idle, native }: Timer): void {
    if (idle === null) nativeClearTimeout(native);
    else nativeIdleCancel(native);
  }

  function fire(timer: Timer, deadline = idleDeadline()): void {
    if (apply(get, timers, [timer.id]) !== timer) return;
    if (timer.every === null) apply(remove, timers, [timer.id]);
    else {
      timer.nesting += 1;
      timer.due = Math.max(timer.due + timer.every, now());
      if (!isAhead) arm(timer);
    }
    nesting = timer.nesting;
    call(() => timer.run(deadline));
    nesting = 0;
  }

  /** Ends at the next frame or timer. In real time, which passes for the page's work even if its clock is held. */
  function idleDeadline(): IdleDeadline {
    let next = nextFrameAt();
    eachTimer(({ idle, due }) => {
      if (idle === null) next = Math.min(next, due);
    });
    const endsAt = realNow() + Math.max(1, Math.min(IDLE_MAX_MS, next - now()));
    const timeRemaining = () => Math.max(0, endsAt - realNow());
    return Object.create(globalThis.IdleDeadline?.prototype ?? null, {
      didTimeout: { value: false },
      timeRemaining: { value: timeRemaining },
    });
  }

  function add(run: Timer['run'], delay: number, isInterval: boolean): number {
    const waitMs = delay > 0 && delay <= DELAY_MAX_MS ? delay : 0;
    const ms = nesting >= NESTING_CLAMPED ? Math.max(NESTED_MIN_MS, waitMs) : waitMs;
    const every = isInterval ? Math.max(NESTED_MIN_MS, ms) : null;
    return start({ run, due: now() + ms, every, nesting: nesting + 1, idle: null });
  }

  function start(options: Omit<Timer, 'id' | 'native'>): number {
    const id = ++lastTimerId;
    const timer = { ...options, id, native: 0 };
    apply(set, timers, [id, timer]);
    if (!isAhead) arm(timer);
    return id;
  }

  function clear(id: unknown): void {
    const timer: Timer | undefined = apply(get, timers, [Number(id)]);
    if (timer === undefined) return;
    apply(remove, timers, [timer.id]);
    disarm(timer);
  }

  function startTimer([handler, delay, ...args]: unknown[], isInterval: boolean): number {
    const code = typeof handler === 'function' ? null : `${handler}`;
    const run = code === null ? () => apply(handler as () => void, globalThis, args) : () => evaluate(code);
    return add(run, Number(delay), isInterval);
  }

  function askForFrame(): void {
    if (isAhead || held !== null || nativeFrame || frames.length === 0) return;
    nativeFrame = true;
    nativeFrameRequest((time) => {
      nativeFrame = false;
      if (!isAhead) flush(time + offset);
    });
  }

  function flush(time: number): void {
    lateMs += Math.max(0, time - frameDueAt);
    lastFrameAt = Math.max(lastFrameAt, time);
    flushing = frames;
    frames = [];
    for (let at = 0; at < flushing.length; at++) {
      const run = flushing[at]?.run;
      if (run) call(() => apply(run, globalThis, [lastFrameAt]));
    }
    flushing = [];
    askForFrame();
  }

  function requestFrame(run: FrameRequestCallback): number {
    if (frames.length === 0) frameDueAt = Math.max(lastFrameAt + FRAME_MS, flushing.length > 0 ? 0 : now());
    frames[frames.length] = { id: ++lastFrameId, run };
    askForFrame();
    return lastFrameId;
  }

  function cancelFrame(id: number): void {
    for (const list of [frames, flushing])
      for (let at = 0; at < list.length; at++) {
        const entry = list[at];
        if (entry?.id === id) entry.run = null;
      }
  }

  function eachTimer(visit: (timer: Timer) => void): void {
    apply(forEach, timers, [visit]);
  }

  function earliestTimer(): Timer | null {
    let earliest: Timer | null = null;
    eachTimer((timer) => {
      if (earliest === null || timer.due < earliest.due) earliest = timer;
    });
    return earliest;
  }

  function nextFrameAt(): number {
    return frames.length === 0 ? Number.POSITIVE_INFINITY : Math.max(lastFrameAt + FRAME_MS, now());
  }

  /**
   * Runs the next callback that is due by the given time.
   * @returns whether there was one
   */
  function step(until: number): boolean {
    const timer = earliestTimer();
    const frameAt = nextFrameAt();
    const at = Math.min(timer?.due ?? Number.POSITIVE_INFINITY, frameAt);
    if (at > until) return false;
    moveTo(at);
    if (timer === null || frameAt < timer.due) {
      flush(frameAt);
      waitUntilDrawn();
    } else fire(timer);
    return true;
  }

  const waitUntilDrawn = 'document' in globalThis ? followWebGl() : () => {};
  let wake: () => void = () => {};
  port1.onmessage = () => wake();
  /** A separate task, so that promises and messages run in between. */
  function nextTask(): Promise<void> {
    return new NativePromise((resolve) => {
      wake = resolve;
      apply(postMessage, port2, [0]);
    });
  }

  async function workersAttached(): Promise<void> {
    const leftMs = workersAttachedAt - realNow();
    if (leftMs <= 0) return;
    await new NativePromise((resolve) => {
      nativeSetTimeout(resolve, leftMs);
    });
  }

  async function runAhead({ ms, realMs, hold }: ClockRequest): Promise<void> {
    if (hold && held === null) {
      held = 0;
      heldSince = nativeNow();
    }
    const until = now() + ms;
    const realUntil = realNow() + realMs;
    isAhead = true;
    // In a new worker, this may be called before its script runs.
    await nextTask();
    eachTimer(disarm);
    try {
      while (realNow() < realUntil) {
        await workersAttached();
        if (!step(until)) {
          moveTo(until);
          break;
        }
        await nextTask();
      }
    } finally {
      isAhead = false;
      eachTimer(arm);
      askForFrame();
    }
  }

  function state(): ClockState {
    const next = Math.min(earliestTimer()?.due ?? Number.POSITIVE_INFINITY, nextFrameAt());
    const ran = { nextMs: next === Number.POSITIVE_INFINITY ? null : Math.max(0, next - now()), lateMs };
    lateMs = 0;
    return ran;
  }

  replaceGlobal('setTimeout', (args) => startTimer(args, false));
  replaceGlobal('setInterval', (args) => startTimer(args, true));
  replaceGlobal('requestIdleCallback', ([run, options], native) => {
    if (typeof run !== 'function') return native();
    const idle = { timeout: Number((options as IdleRequestOptions | undefined)?.timeout) || 0 };
    return start({
      run: (deadline) => apply(run, undefined, [deadline]),
      due: now() + IDLE_AFTER_MS,
      every: null,
      nesting: 0,
      idle,
    });
  });
  for (const name of ['clearTimeout', 'clearInterval', 'cancelIdleCallback']) replaceGlobal(name, ([id]) => clear(id));
  replaceGlobal('requestAnimationFrame', ([run], native) =>
    typeof run === 'function' ? requestFrame(run as FrameRequestCallback) : native(),
  );
  replaceGlobal('cancelAnimationFrame', ([id]) => cancelFrame(Number(id)));
  replace(Performance.prototype, 'now', (native, self, args) => {
    const real = Number(apply(native, self, args));
    return self === page ? (held ?? real + offset) : real;
  });
  replace(NativeDate, 'now', dateNow);
  replaceGetter(Event.prototype, 'timeStamp', (self) => {
    const real: number = apply(timeStampOf, self, []);
    return held ?? real + offset;
  });
  replaceConstructor('Date', {
    construct: (native, args, target) => construct(native, args.length === 0 ? [dateNow()] : args, target),
    apply: () => `${construct(NativeDate, [dateNow()])}`,
  });
  replaceConstructor('Worker', {
    construct: (native, args, target) => {
      workersAttachedAt = realNow() + WORKER_ATTACHES_MS;
      return construct(native, args, target);
    },
  });
  replacePostTask();
  replace(Function.prototype, 'toString', (native, self, args) => apply(native, nativeOf(self), args));
  return (request) => (isAhead ? null : apply(then, runAhead(request), [state, state]));

  function replaceConstructor(
    name: string,
    traps: Pick<ProxyHandler<Newable>, 'apply'> & Required<Pick<ProxyHandler<Newable>, 'construct'>>,
  ): void {
    const native: Newable | undefined = Object.getOwnPropertyDescriptor(globalThis, name)?.value;
    if (native === undefined) return;
    const replaced: Newable = proxyOf(native, {
      ...traps,
      construct: (_, args, target) => traps.construct(native, args, target === replaced ? native : target),
    });
    native.prototype.constructor = replaced;
    define(globalThis, name, { value: replaced });
  }

  /** A task with a delay waits on this clock, and is then posted without a delay. */
  function replacePostTask(): void {
    const { Scheduler } = globalThis as unknown as { Scheduler?: { prototype: object } };
    if (Scheduler === undefined) return;
    replace(Scheduler.prototype, 'postTask', (native, self, args) => {
      const [task, options] = args as [unknown, { delay?: unknown; signal?: AbortSignal } | undefined];
      const delay = Number(options?.delay);
      if (typeof task !== 'function' || !(delay > 0) || options?.signal?.aborted) return apply(native, self, args);
      return new NativePromise((resolve) => {
        add(() => resolve(apply(native, self, [task, { ...options, delay: 0 }])), delay, false);
      });
    });
  }

  /** An invalid call results in the browser's own error. */
  function replaceGlobal(name: string, trap: (args: unknown[], callNative: () => unknown) => unknown): void {
    replace(globalThis, name, (native, self, args) => {
      const callNative = () => apply(native, self, args);
      const isThisGlobal = self === undefined || self === null || self === globalThis;
      return isThisGlobal && args.length > 0 ? trap(args, callNative) : callNative();
    });
  }
}

type Newable = { new (...args: unknown[]): object; prototype: { constructor: Newable } };

type Trap = (native: never, self: unknown, args: unknown[]) => unknown;

/** The native functions by what replaces them. */
const natives = new WeakMap<object, object>();
const { apply: applyNative, setPrototypeOf, getPrototypeOf } = Reflect;
const { get: getNative } = WeakMap.prototype;

function nativeOf(value: unknown): unknown {
  return applyNative(getNative, natives, [value]) ?? value;
}

/** A proxy keeps the native function's name, length and prototype, and hides its source. */
function proxyOf<Native extends object>(native: Native, traps: ProxyHandler<Native>): Native {
  const proxy: Native = new Proxy(native, {
    ...traps,
    // A prototype chain through a proxy could be a circle.
    setPrototypeOf(target, prototype) {
      for (let at = prototype; at !== null; at = getPrototypeOf(at)) if (at === proxy) return false;
      return setPrototypeOf(target, prototype);
    },
  });
  natives.set(proxy, native);
  return proxy;
}

function replace(owner: object, name: string, trap: Trap): void {
  const holder = holderOf(owner, name);
  const { value } = Object.getOwnPropertyDescriptor(holder, name) ?? {};
  if (typeof value === 'function')
    define(holder, name, { value: proxyOf(value, { apply: trap as ProxyHandler<typeof value>['apply'] }) });
}

/** The functions of a worker's global object are in its prototypes. */
function holderOf(owner: object, name: string): object {
  let holder = owner;
  while (!Object.hasOwn(holder, name)) {
    const next: object | null = Object.getPrototypeOf(holder);
    if (next === null) return owner;
    holder = next;
  }
  return holder;
}

function replaceGetter(holder: object, name: string, read: (self: object) => unknown): void {
  define(holder, name, { get: proxyOf(getterOf(holder, name), { apply: (_native, self) => read(self) }) });
}

/** Keeps the property's other attributes. */
function define(holder: object, name: string, change: PropertyDescriptor): void {
  Object.defineProperty(holder, name, { ...Object.getOwnPropertyDescriptor(holder, name), ...change });
}

/** Chromium draws no more of them: an older one loses its context. */
const WEBGL_MAX = 16;

/**
 * Follows which canvases of this document WebGL draws.
 * @returns a function that waits until they are drawn. WebGL draws long after it is called, so that a run could ask for more frames than
 * the browser draws in minutes. The page's time passes meanwhile: its next frame comes later, as on a screen.
 */
function followWebGl(): () => void {
  const drawn: HTMLCanvasElement[] = [];
  const NativeCanvas = OffscreenCanvas;
  const { getContext } = NativeCanvas.prototype;
  const { drawImage, getImageData } = OffscreenCanvasRenderingContext2D.prototype;
  const { prototype } = HTMLCanvasElement;
  const isConnected = getterOf(Node.prototype, 'isConnected');
  const [widthOf, heightOf] = [getterOf(prototype, 'width'), getterOf(prototype, 'height')];
  let sample: unknown = null;
  let count = 0;
  replace(prototype, 'getContext', (native, self, args) => {
    const context: unknown = applyNative(native, self, args);
    const isWebGl = args[0] === 'webgl' || args[0] === 'webgl2' || args[0] === 'experimental-webgl';
    let isNew = isWebGl && context !== null;
    for (let at = 0; at < drawn.length; at++) isNew &&= drawn[at] !== self;
    if (isNew) drawn[count++ % WEBGL_MAX] = self as HTMLCanvasElement;
    return context;
  });
  return () => {
    for (let at = 0; at < drawn.length; at++) {
      const canvas = drawn[at] as HTMLCanvasElement;
      const isShown =
        applyNative(isConnected, canvas, []) &&
        applyNative(widthOf, canvas, []) > 0 &&
        applyNative(heightOf, canvas, []) > 0;
      if (!isShown) continue;
      sample ??= applyNative(getContext, new NativeCanvas(1, 1), ['2d', { willReadFrequently: true }]);
      // Only a read waits.
      applyNative(drawImage, sample, [canvas, 0, 0, 1, 1]);
      applyNative(getImageData, sample, [0, 0, 1, 1]);
    }
  };
}

function getterOf(holder: object, name: string): () => never {
  return Object.getOwnPropertyDescriptor(holder, name)?.get as () => never;
}
