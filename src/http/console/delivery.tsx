import { type DeliveryStatus, deliveryEtag } from '../../contract/delivery.js';
import { Facts } from './facts.js';
import { PostForm } from './layout.js';
import { instant } from './say.js';

/** The callback of a job, and a button that sends it again. */
export function Delivery({ delivery, formToken }: { delivery: DeliveryStatus; formToken: string }) {
  const { state } = delivery;
  const tone = state === 'delivered' ? 'good' : state === 'failed' ? 'bad' : 'busy';
  return (
    <section id="delivery" class="card" data-live={state === 'pending' ? `job?id=${delivery.jobId}` : undefined}>
      <h2>Callback</h2>
      <Facts
        of={[
          ['State', <span class={`state ${tone}`}>{state}</span>],
          ['To', delivery.url],
          ['Attempts', `${delivery.attempts} of ${delivery.maxAttempts}`],
          ['Generation', String(delivery.generation)],
          ...fact('Last status', delivery.lastStatus === null ? null : String(delivery.lastStatus)),
          ...fact('Last error', delivery.lastError),
          ...fact('Last attempt', timeOf(delivery.lastAttemptAt)),
          ...fact('Next attempt', timeOf(delivery.nextAttemptAt)),
          ...fact('Delivered', timeOf(delivery.deliveredAt)),
        ]}
      />
      {state === 'pending' ? null : (
        <PostForm action="redeliver" token={formToken}>
          <input type="hidden" name="id" value={delivery.jobId} />
          <input type="hidden" name="etag" value={deliveryEtag(delivery)} />
          <button type="submit">Send again</button>
        </PostForm>
      )}
    </section>
  );
}

function fact(name: string, value: string | null): [string, string][] {
  return value === null ? [] : [[name, value]];
}

function timeOf(at: number | null): string | null {
  return at === null ? null : instant(at);
}
