import type { DeliveryStatus } from '../../src/contract/delivery.js';
import { eventOf, type JobSnapshot } from '../../src/contract/job.js';
import type { AttemptOutcome, DeliveryStore, DueDelivery, Redelivery } from '../../src/store/store.js';

interface Row {
  status: DeliveryStatus;
  secret: string;
  job: JobSnapshot;
  leasedUntil: number;
}

/** Deliveries in memory, by the rules of store/store.ts, with every recorded outcome kept. */
export class MemoryDeliveries implements DeliveryStore {
  readonly rows: Row[] = [];
  readonly outcomes: { deliveryId: string; generation: number; attempt: number; outcome: AttemptOutcome; at: number }[] = [];

  add(row: { deliveryId: string; url: string; secret: string; job: JobSnapshot; maxAttempts?: number; dueAt?: number }): void {
    this.rows.push({
      secret: row.secret,
      job: row.job,
      leasedUntil: 0,
      status: {
        jobId: row.job.id,
        deliveryId: row.deliveryId,
        event: eventOf(row.job.state === 'failed' ? 'failed' : 'completed'),
        url: row.url,
        ...{ state: 'pending', attempts: 0, maxAttempts: row.maxAttempts ?? 5, generation: 1 },
        ...{ lastStatus: null, lastError: null, lastAttemptAt: null, nextAttemptAt: row.dueAt ?? 0, deliveredAt: null },
      },
    });
  }

  async claimNextDelivery(claim: { now: number; leaseMs: number; perReceiver: number }): Promise<DueDelivery | null> {
    const leased = this.rows.filter((row) => row.leasedUntil > claim.now);
    const atOrigin = (row: Row) => leased.filter((other) => new URL(other.status.url).origin === new URL(row.status.url).origin).length;
    const due = this.rows
      .filter((row) => row.status.state === 'pending' && row.leasedUntil <= claim.now && (row.status.nextAttemptAt ?? 0) <= claim.now)
      .filter((row) => atOrigin(row) < claim.perReceiver)
      .sort((a, b) => (a.status.nextAttemptAt ?? 0) - (b.status.nextAttemptAt ?? 0))[0];
    if (due === undefined) return null;
    due.leasedUntil = claim.now + claim.leaseMs;
    const { deliveryId, jobId, generation, attempts, maxAttempts, url } = due.status;
    return { deliveryId, jobId, generation, attempt: attempts + 1, maxAttempts, url, secret: due.secret, job: due.job, traceparent: null };
  }

  async recordAttempt(
    delivery: Pick<DueDelivery, 'deliveryId' | 'generation' | 'attempt'>,
    outcome: AttemptOutcome,
    now: number,
  ): Promise<boolean> {
    const row = this.rows.find((one) => one.status.deliveryId === delivery.deliveryId);
    if (row === undefined || row.status.generation !== delivery.generation || row.status.attempts !== delivery.attempt - 1) return false;
    const { deliveryId, generation, attempt } = delivery;
    this.outcomes.push({ deliveryId, generation, attempt, outcome, at: now });
    row.leasedUntil = 0;
    row.status = {
      ...row.status,
      state: outcome.kind === 'retry' ? 'pending' : outcome.kind,
      attempts: delivery.attempt,
      lastStatus: outcome.status,
      lastError: outcome.kind === 'delivered' ? null : outcome.error,
      lastAttemptAt: now,
      nextAttemptAt: outcome.kind === 'retry' ? outcome.nextAttemptAt : null,
      deliveredAt: outcome.kind === 'delivered' ? now : null,
    };
    return true;
  }

  async findDelivery(jobId: string): Promise<DeliveryStatus | null> {
    return this.rows.find((row) => row.status.jobId === jobId)?.status ?? null;
  }

  async redeliver(jobId: string, generation: number, now: number): Promise<Redelivery> {
    const row = this.rows.find((one) => one.status.jobId === jobId);
    if (row === undefined) return { kind: 'delivery_unavailable' };
    if (row.status.state === 'pending') return { kind: 'delivery_pending' };
    if (row.status.generation !== generation) return { kind: 'generation_changed' };
    row.status = { ...row.status, state: 'pending', attempts: 0, generation: generation + 1, nextAttemptAt: now };
    return { kind: 'accepted', status: row.status };
  }

  async nextDeliveryDueAt(): Promise<number | null> {
    const times = this.rows
      .filter((row) => row.status.state === 'pending')
      .map((row) => Math.max(row.leasedUntil, row.status.nextAttemptAt ?? 0));
    return times.length === 0 ? null : Math.min(...times);
  }

  async webhookTotals(): Promise<{ delivered: number; failed: number; errors: number }> {
    const count = (state: string) => this.rows.filter((row) => row.status.state === state).length;
    return { delivered: count('delivered'), failed: count('failed'), errors: 0 };
  }
}
