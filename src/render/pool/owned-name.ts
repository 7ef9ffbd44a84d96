/** Names of temporary files and directories that identify their process, so that those of a killed process can be removed. */
import { createHash, randomBytes } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { readProcess } from '../launch/process-table.js';

/** The name may be followed by mkdtemp's suffix. */
const NAME = /^(\d+)-([0-9a-z]+)-([0-9a-f]{2})[0-9a-f]{4}(?:-\w{6})?$/;

/** A new name that belongs to this process. */
export function ownedName(): string {
  const startTime = readProcess(process.pid)?.startTime ?? 0;
  return `${process.pid}-${startTime.toString(36)}-${processNamespace()}${randomBytes(2).toString('hex')}`;
}

export function isOwnedName(name: string): boolean {
  return NAME.test(name);
}

export function ownerLives(name: string): boolean {
  const [, pid = '', startTime = ''] = NAME.exec(name) ?? [];
  return readProcess(Number(pid))?.startTime === Number.parseInt(startTime, 36);
}

/** Whether this process could see the owner if it were running. */
export function ownerIsVisible(name: string): boolean {
  return NAME.exec(name)?.[3] === processNamespace();
}

/**
 * Two hexadecimal digits that identify the PID namespace, since containers that share a temporary directory do not see each
 * other's processes.
 */
function processNamespace(): string {
  let name = '';
  try {
    name = readlinkSync('/proc/self/ns/pid');
  } catch {
    // This system has no PID namespaces.
  }
  return createHash('sha256').update(name).digest('hex').slice(0, 2);
}
