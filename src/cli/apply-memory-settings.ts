/** Settings that make glibc release the memory of pictures; read at process start. */
const ALLOCATOR = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '1048576' };
/** MB of short-lived objects; as much as twice that is in use. V8's own limit lets them take 100 MB and more on Node 24. */
const YOUNG_OBJECTS = '--max-semi-space-size=8';

type Execve = (file: string, args: string[], env: NodeJS.ProcessEnv) => never;

/**
 * Makes the process start again, with the same id, and with memory settings for a server that encodes pictures. Returns if the operator or
 * an earlier start has set them, and where that is impossible: on Node 20, outside Linux, and in a process that Node's `fork()` started,
 * whose channel to its parent would be lost.
 * @param args the command line to start again with, the program's name first
 */
export function applyMemorySettings(args: string[]): void {
  const { execve } = process as { execve?: Execve };
  const nodeOptions = process.env.NODE_OPTIONS ?? '';
  const isLimited = [nodeOptions, ...process.execArgv].some((options) => /--max[-_]semi[-_]space[-_]size/.test(options));
  const isSet = isLimited && Object.keys(ALLOCATOR).every((name) => process.env[name] !== undefined);
  if (isSet || execve === undefined || process.platform !== 'linux' || process.send !== undefined) return;
  // Node would warn that the call is experimental.
  process.emitWarning = () => {};
  const settings = isLimited ? {} : { NODE_OPTIONS: `${YOUNG_OBJECTS} ${nodeOptions}`.trim() };
  execve.call(process, process.execPath, args, { ...ALLOCATOR, ...process.env, ...settings });
}
