/**
 * Opts out of the consent platforms that autoconsent knows, and never accepts. Runs in the page's main world, since some
 * platforms can only be asked through the page's functions.
 */
import AutoConsent, { filterCompactRules, type IndexedCMPRuleset } from '@duckduckgo/autoconsent';
import rules from '@duckduckgo/autoconsent/rules/compact-rules.json';

export interface PlatformAnswer {
  /** autoconsent's name of the platform; null if none was found. */
  platform: string | null;
  outcome: 'none' | 'rejected' | 'hidden' | 'failed';
}

/** The time limits, in ms, for a platform to show its banner and to accept the answer. */
interface TimeLimits {
  popup: number;
  answer: number;
}

/** Resolves within `popup` + `answer`, usually at once. */
export function answerPlatform({ popup, answer }: TimeLimits): Promise<PlatformAnswer> {
  return new Promise((resolve) => {
    let platform: string | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = (outcome: PlatformAnswer['outcome']) => {
      clearTimeout(timer);
      resolve({ platform: outcome === 'none' ? null : platform, outcome });
    };
    const allow = (ms: number, outcome: PlatformAnswer['outcome']) => {
      clearTimeout(timer);
      timer = setTimeout(() => end(outcome), ms);
    };
    allow(popup, 'none');
    const prompt = new ImmediateAutoConsent(async (message) => {
      if (message.type === 'popupFound') {
        platform = message.cmp;
        allow(answer, 'failed');
      } else if (message.type === 'autoconsentDone') end(message.isCosmetic ? 'hidden' : 'rejected');
      else if (message.type === 'optOutResult' && !message.result) end('failed');
      else if (message.type === 'report' && message.state.lifecycle === 'optOutSucceeded') end('rejected');
      else if (message.type === 'report' && message.state.lifecycle === 'nothingDetected') end('none');
    });
    prompt.initialize(CONFIG, {
      autoconsent: [],
      compact: filterCompactRules(rules as unknown as IndexedCMPRuleset, {
        url: location.href,
        mainFrame: window.top === window,
      }),
    });
  });
}

/** Starts immediately, instead of when the page is idle. */
class ImmediateAutoConsent extends AutoConsent {
  override start(): void {
    void this._start();
  }
}

const CONFIG = {
  enabled: true,
  autoAction: 'optOut' as const,
  disabledCmps: [],
  enablePrehide: false,
  enableCosmeticRules: true,
  detectRetries: 0,
  isMainWorld: true,
  // Its heuristics for unknown banners may click a button that accepts.
  heuristicMode: 'off' as const,
  enableHeuristicDetection: false,
  logs: {
    lifecycle: false,
    rulesteps: false,
    detectionsteps: false,
    evals: false,
    errors: false,
    messages: false,
    waits: false,
  },
};
