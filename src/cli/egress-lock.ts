import type { Unprivileged } from '../render/launch/unprivileged.js';
import { OperatorError } from './operator-error.js';

/**
 * An nftables ruleset that keeps the browser's user on 127.0.0.1, where the server's proxy listens. Loading it again replaces it.
 * @param user whom the browser runs as; null when that is whoever starts the server
 * @throws OperatorError when there is no such user: a rule for the server's own user would cut off the server
 */
export function egressLock(user: Unprivileged | null): string {
  if (user === null) throw new OperatorError(NOT_FIXED);
  // Packets of no socket, such as the kernel's own replies, match no skuid: each rule must ask for the user it means.
  return `# The user that stillframe's browser runs as (uid ${user.uid}) reaches the server's proxy on 127.0.0.1 and nothing else.
# It holds for a server that is started as root. Load: nft -f FILE. Remove: nft delete table inet stillframe
table inet stillframe
delete table inet stillframe
table inet stillframe {
	chain browser {
		type filter hook output priority 0; policy accept;
		meta skuid ${user.uid} ip daddr 127.0.0.1 meta l4proto tcp accept
		meta skuid ${user.uid} counter reject
	}
}`;
}

const NOT_FIXED =
  'The browser has no user of its own to restrict: only a server that is started as root runs it as another user. ' +
  'Start the server as root, and run: sudo stillframe doctor --egress-lock';
