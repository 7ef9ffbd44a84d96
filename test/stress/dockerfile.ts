export interface Instruction {
  name: string;
  words: string[];
  /** Everything behind the name. */
  text: string;
}

export interface Image {
  sessions: { from: string; name: string | undefined; steps: Instruction[] }[];
  healthCheck: string[];
  entrypoint: string[];
  command: string[];
}

/** A Dockerfile as far as this project's uses the language: exec forms for what is started, no heredocs, no quotes in ENV and ARG. */
export function readDockerfile(source: string): Image {
  const image: Image = { sessions: [], healthCheck: [], entrypoint: [], command: [] };
  const lines = source.replace(/^\s*#.*\n/gm, '').replace(/\\\n\s*/g, '');
  for (const line of lines.split('\n').filter((text) => text.trim() !== '')) {
    const [, name = '', text = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    const step = { name, text, words: text.split(/\s+/) };
    if (name === 'FROM') image.sessions.push({ from: step.words[0] ?? '', name: step.words[2], steps: [] });
    else if (name === 'HEALTHCHECK') image.healthCheck = execForm(text);
    else if (name === 'ENTRYPOINT') image.entrypoint = execForm(text);
    else if (name === 'CMD') image.command = execForm(text);
    else image.sessions.at(-1)?.steps.push(step);
  }
  return image;
}

function execForm(text: string): string[] {
  return JSON.parse(text.slice(text.indexOf('['))) as string[];
}
