import type { Unprivileged } from '../render/launch/unprivileged.js';
import { OperatorError } from './operator-error.js';

/**
 * An nftables ruleset that restricts the browser's user to 127.0.0.1, where the server's proxy listens. Loading it again replaces it.
 * @param user the user that the browser runs as; null if it is the one that starts the server
 * @throws OperatorError when there is no such user: a rule for the server's own user would cut off the server
 */
export function egressLock(user: Unprivileged | null): string {
  if (user === null) throw new OperatorError(NOT_FIXED);
  // Packets without a socket, such as the kernel's own replies, match no skuid, so each rule names the user.
  return `# The user that stillframe's browser runs as (uid ${user.uid}) reaches the server's proxy on 127.0.0.1 and nothing else.
# It applies to a server that is started as root. Load: nft -f FILE. Remove: nft delete table inet stillframe
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
