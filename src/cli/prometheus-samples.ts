/** The samples of a Prometheus text. */
export interface Samples {
  /** Returns the value of the first sample with these labels; null if there is none. */
  one(name: string, labels?: Record<string, string>): number | null;
  /** Lists the values of one label over all samples of a name. */
  values(name: string, label: string): string[];
}

export interface StageTimes {
  stage: string;
  count: number;
  /** Mean in seconds. */
  mean: number;
  /** Upper bound, in seconds, of the bucket that contains the 95th percentile. */
  p95: number;
}

interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const STAGES = 'stillframe_capture_stage_seconds';

export function readSamples(text: string): Samples {
  const samples = text.split('\n').flatMap((line) => readSample(line) ?? []);
  const of = (name: string) => samples.filter((sample) => sample.name === name);
  return {
    one: (name, labels = {}) =>
      of(name).find((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))?.value ?? null,
    values: (name, label) => [...new Set(of(name).flatMap(({ labels }) => labels[label] ?? []))],
  };
}

/** Computes the times of captures by stage, between two readings or since the start, slowest first. */
export function stageTimes(now: Samples, before: Samples | null): StageTimes[] {
  const grown = (name: string, labels: Record<string, string>) => (now.one(name, labels) ?? 0) - (before?.one(name, labels) ?? 0);
  const bounds = now.values(`${STAGES}_bucket`, 'le');
  return now
    .values(`${STAGES}_count`, 'stage')
    .map((stage): StageTimes => {
      const count = grown(`${STAGES}_count`, { stage });
      const bucket = bounds.find((le) => grown(`${STAGES}_bucket`, { stage, le }) >= count * 0.95);
      return {
        stage,
        count,
        mean: grown(`${STAGES}_sum`, { stage }) / Math.max(1, count),
        p95: Number(bucket?.replace('+Inf', 'Infinity') ?? 0),
      };
    })
    .filter(({ count }) => count > 0)
    .sort((one, other) => other.mean - one.mean);
}

function readSample(line: string): Sample | null {
  const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  if (name === undefined || value === undefined) return null;
  const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => [key, text]);
  return { name, labels: Object.fromEntries(pairs), value: Number(value) };
}
