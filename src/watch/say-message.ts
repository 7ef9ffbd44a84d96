import { formatShare } from '../contract/comparison.js';
import type { Watch, WatchMessage, WatchRun } from '../contract/watch.js';
import { describeSchedule } from './schedule.js';

/** A message, with the watch and the run that it is about. */
export interface MessageContext {
  message: WatchMessage;
  watch: Watch;
  run: WatchRun;
  /** The address of the history. */
  historyUrl: string;
}

const TITLES: Record<WatchMessage['event'], string> = {
  'watch.changed': 'Changed',
  'watch.report': 'Report',
  'watch.failed': 'Failing',
  'watch.recovered': 'Works again',
};

/** The title of a message, such as `Changed: Pricing page`. */
export function titleOf({ message, watch }: MessageContext): string {
  return `${TITLES[message.event]}: ${watch.definition.name}`;
}

/** Describes the event of a message in sentences for people. */
export function describeEvent({ message, watch, run }: MessageContext): string {
  const { name } = watch.definition;
  switch (message.event) {
    case 'watch.changed':
      return `“${name}” has changed${run.share === null ? '' : `: ${formatShare(run.share)} of its pixels`}.`;
    case 'watch.report':
      return `“${name}”, as it looks ${describeSchedule(watch.definition.schedule)}.`;
    case 'watch.recovered':
      return `“${name}” works again.`;
    case 'watch.failed': {
      const reason = run.error === null ? '' : ` ${run.error.message}`;
      if (run.state === 'skipped') return `“${name}” cannot run.${reason}`;
      return `“${name}” has failed ${watch.failures >= 2 ? `${watch.failures} times in a row` : 'again and again'}.${reason} No further message follows until it works again.`;
    }
  }
}
