import { succeedsWithin } from '../deadlines.js';
import type { CdpSession } from './pipe-session.js';

/** The maximum number of frames of a target in which an expression is run. */
const FRAMES_MAX = 100;
/** The time limit for the frames of a target to answer, in ms. */
const ANSWER_MAX_MS = 1_000;

/**
 * A call of a program that is bundled to one script, as an expression for a document where it is not installed. It leaves no trace.
 * @param source the script, which sets `stillframe` to the program's exports
 * @param name of an exported function, or of one of an exported module; its arguments must be plain data
 */
export function callIn(source: string, name: string, ...args: readonly unknown[]): string {
  return `(() => { ${source}\nreturn ${callOf(name, args)}; })()`;
}

/** A call of a program that is installed in the document. */
export function callOf(name: string, args: readonly unknown[]): string {
  return `stillframe.${name}(${args.map((one) => JSON.stringify(one ?? null)).join(',')})`;
}

/** The used parts of `Page.getFrameTree`. */
export interface FrameTree {
  frame: { id: string };
  childFrames?: FrameTree[];
}

/** The ids of the frames that share a session's target, outer ones first. */
export async function frameIds(cdp: CdpSession): Promise<string[]> {
  const idsIn = ({ frame, childFrames = [] }: FrameTree): string[] => [frame.id, ...childFrames.flatMap(idsIn)];
  const { frameTree } = await cdp.send('Page.getFrameTree');
  return idsIn(frameTree as FrameTree);
}

/**
 * Evaluates an expression in our isolated world of one frame of a target.
 * @returns its value, which must be plain data
 */
export async function runInFrame(cdp: CdpSession, frameId: string, expression: string): Promise<unknown> {
  const { executionContextId: contextId } = await cdp.send('Page.createIsolatedWorld', {
    frameId,
    worldName: 'stillframe clock',
  });
  // biome-ignore lint/plugin: the context is our own world
  const { result } = await cdp.send('Runtime.evaluate', {
    expression,
    contextId,
    awaitPromise: true,
    returnByValue: true,
  });
  return result.value;
}

/**
 * Evaluates an expression in our isolated worlds of a target's frames, as far as they answer in time.
 * @param options.root whether the target's own document is one of them
 */
export async function runInFrames(cdp: CdpSession, expression: string, { root }: { root: boolean }): Promise<void> {
  const run = async () => {
    const ids = (await frameIds(cdp)).slice(root ? 0 : 1, FRAMES_MAX);
    await Promise.all(ids.map((id) => runInFrame(cdp, id, expression).catch(() => undefined)));
  };
  await succeedsWithin(run(), { ms: ANSWER_MAX_MS });
}
