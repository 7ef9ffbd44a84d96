import type { Config } from '../config.js';

/** Any destination: the capture runs for the machine's own user (operation.md, Commands). */
const EVERYWHERE = ['*'];

/** What captures of the command line may reach although it is private. @param here.zone of the page servers, which are always allowed */
export function allowedOnThisMachine(config: Config, here: { publicOnly: boolean; zone: string }): string[] {
  return here.publicOnly ? [...config.allowDestinations, `*.${here.zone}`] : EVERYWHERE;
}
