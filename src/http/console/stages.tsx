import { duration } from './say.js';

const WIDTH = 300;
const ROW = 10;
/** As they follow each other; those that are not named come last. */
const ORDER = ['queue', 'open', 'navigate', 'run', 'settle', 'scroll', 'stop', 'shoot', 'encode', 'store'];

/** How long each stage of a capture took, one after the other. The drawing repeats what the table says. */
export function Stages({ timings }: { timings: Record<string, number> }) {
  const place = (name: string) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
  const stages = Object.entries(timings)
    .filter(([name]) => name !== 'total')
    .sort(([one], [other]) => place(one) - place(other));
  const total = stages.reduce((sum, [, ms]) => sum + ms, 0);
  if (total === 0) return null;
  let before = 0;
  return (
    <>
      <h3>Stages</h3>
      <table class="stages">
        <tbody>
          {stages.map(([name, ms]) => {
            const at = before;
            before += ms;
            return (
              <tr>
                <th scope="row">{name}</th>
                <td class="number">{duration(ms)}</td>
                <td>
                  <svg viewBox={`0 0 ${WIDTH} ${ROW}`} preserveAspectRatio="none" aria-hidden="true">
                    <rect x={(at / total) * WIDTH} width={Math.max(2, (ms / total) * WIDTH)} height={ROW} rx="2" />
                  </svg>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </>
  );
}
