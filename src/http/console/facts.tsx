import type { Child } from 'hono/jsx';

/** Names and values, as a description list. */
export function Facts({ of }: { of: readonly (readonly [name: Child, value: Child])[] }) {
  return (
    <dl class="facts">
      {of.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
