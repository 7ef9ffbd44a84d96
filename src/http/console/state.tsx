import type { JobSnapshot } from '../../contract/job.js';

/** A job's state, in words and with a colour. */
export function State({ job }: { job: Pick<JobSnapshot, 'state' | 'progress' | 'result'> }) {
  const { state, progress, result } = job;
  if (result?.outcome.ok === false) {
    return (
      <>
        <span class="state bad">failed</span> <code>{result.outcome.error.code}</code>
      </>
    );
  }
  const tone = state === 'completed' ? 'good' : state === 'active' ? 'busy' : '';
  return (
    <span class={`state ${tone}`}>
      {state}
      {state === 'active' ? ` ${progress} %` : ''}
    </span>
  );
}
