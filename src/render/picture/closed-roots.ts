import type { Stage } from '../stage.js';
import { keepClosedRoot } from './in-page-closed.js';
import { type PageHand, within } from './page-hand.js';

interface TreeNode {
  shadowRoots?: { shadowRootType?: string; backendNodeId: number }[];
}

const PINNED = ['fixed', 'sticky'].map((value) => ({ name: 'position', value }));
const MOST_ROOTS = 200;
const GROUP = 'stillframe-roots';

/**
 * Makes the closed shadow trees that something pinned is in, or beside, known to the functions that pin, for which they are as open ones
 * then. Only the browser sees into them; it asks every element of the page for its position, 1 to 2 ms for each thousand, and tells of all
 * that is on the way down to what is pinned: not for pages with very many pinned elements.
 *
 * @returns whether there are any
 * @throws CaptureError `render_timeout`, `render_crashed`, `navigation_failed`
 */
export async function shareClosedRoots(stage: Stage, hand: PageHand, deadline: number): Promise<boolean> {
  const roots = await within(stage, deadline, () => findRoots(stage));
  if (roots.length === 0) return false;
  // One that has gone meanwhile, or is in a frame of the page, cannot be shared, nor need it be: nothing of it is pinned in this document.
  await within(stage, deadline, () => Promise.allSettled(roots.map((root) => share(stage, hand, root))));
  await within(stage, deadline, () => stage.cdp.send('Runtime.releaseObjectGroup', { objectGroup: GROUP }));
  return true;
}

/** With each pinned element, the browser tells the children of all that it is in, and their shadow roots. */
async function findRoots({ cdp }: Stage): Promise<number[]> {
  const roots = new Set<number>();
  const note = ({ nodes }: { nodes: TreeNode[] }) => {
    for (const { shadowRoots = [] } of nodes) {
      for (const { shadowRootType, backendNodeId } of shadowRoots) if (shadowRootType === 'closed') roots.add(backendNodeId);
    }
  };
  cdp.on('DOM.setChildNodes', note);
  try {
    const { root } = await cdp.send('DOM.getDocument', { depth: 0 });
    await cdp.send('DOM.getNodesForSubtreeByStyle', { nodeId: root.nodeId, pierce: true, computedStyles: PINNED });
    await cdp.send('DOM.disable');
  } finally {
    cdp.off('DOM.setChildNodes', note);
  }
  return [...roots].slice(0, MOST_ROOTS);
}

async function share({ cdp }: Stage, { worldId }: PageHand, backendNodeId: number): Promise<void> {
  const { object } = await cdp.send('DOM.resolveNode', { backendNodeId, executionContextId: worldId, objectGroup: GROUP });
  await cdp.send('Runtime.callFunctionOn', { functionDeclaration: `${keepClosedRoot}`, objectId: object.objectId });
}
