/** Settings that make glibc release the memory of pictures. They are read at process start. */
const ALLOCATOR = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072' };
/** Size in MB of the young generation, of which twice as much is in use. V8's own limit lets it take 100 MB and more on Node 24. */
const YOUNG_OBJECTS = '--max-semi-space-size=8';

type Execve = (file: string, args: string[], env: NodeJS.ProcessEnv) => never;

/**
 * Restarts the process, with the same id, to set memory limits for encoding. Returns if they are set, and where it cannot restart: on Node
 * 20, outside Linux, or after `fork()`, whose channel to the parent would be lost.
 * @param args the command line to start again with, the program's name first
 */
export function applyMemorySettings(args: string[]): void {
  const { execve } = process as { execve?: Execve };
  const nodeOptions = process.env.NODE_OPTIONS ?? '';
  const isLimited = [nodeOptions, ...process.execArgv].some((options) =>
    /--max[-_]semi[-_]space[-_]size/.test(options),
  );
  const isSet = isLimited && Object.keys(ALLOCATOR).every((name) => process.env[name] !== undefined);
  if (isSet || execve === undefined || process.platform !== 'linux' || process.send !== undefined) return;
  // Without this, Node would warn that the call is experimental.
  process.emitWarning = () => {};
  const settings = isLimited ? {} : { NODE_OPTIONS: `${YOUNG_OBJECTS} ${nodeOptions}`.trim() };
  execve.call(process, process.execPath, args, { ...ALLOCATOR, ...process.env, ...settings });
}
