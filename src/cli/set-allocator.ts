/** Settings that make glibc release the memory of pictures; read at process start. */
const ALLOCATOR = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '1048576' };

type Execve = (file: string, args: string[], env: NodeJS.ProcessEnv) => never;

/**
 * Makes the process start again, with the same id, and with glibc's allocator set up for a server that encodes pictures. Returns if the
 * operator or an earlier start has set it, and where that is impossible: on Node 20, outside Linux, and in a process that Node's `fork()`
 * started, whose channel to its parent would be lost.
 * @param args the command line to start again with, the program's name first
 */
export function setAllocator(args: string[]): void {
  const { execve } = process as { execve?: Execve };
  const isSet = Object.keys(ALLOCATOR).every((name) => process.env[name] !== undefined);
  if (isSet || execve === undefined || process.platform !== 'linux' || process.send !== undefined) return;
  // Node would warn that the call is experimental.
  process.emitWarning = () => {};
  execve.call(process, process.execPath, args, { ...ALLOCATOR, ...process.env });
}
