/* API key of a provider, stored as a secret for the provider's host. */

import { useQueryClient } from "@tanstack/react-query";

import { usePatch } from "@/data/config";
import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";

import { providerName } from "./configPatch";

/** Host for a secret; keeps the `http://` of the address. */
export function secretHost(address: string): string | undefined {
  if (!URL.canParse(address.trim())) return undefined;
  const { protocol, host } = new URL(address.trim());
  return protocol === "https:" ? host : protocol === "http:" ? `http://${host}` : undefined;
}

/** Unused secret name for a provider. */
export function freeSecretName(provider: string, taken: readonly string[]): string {
  const name = providerName(provider).slice(0, 56);
  const names = [name, `${name}-key`, ...taken.map((_, at) => `${name}-key-${at + 2}`)];
  return names.find((candidate) => !taken.includes(candidate)) ?? name;
}

interface KeyedProvider {
  name: string;
  baseUrl: string;
  keySecret: string | null;
}

/** Key actions; each invalidates secrets and providers. */
export function useProviderKey() {
  const platform = usePlatform();
  const client = useQueryClient();
  const patch = usePatch();
  const invalidate = () =>
    Promise.all([keys.secrets, keys.providers].map((queryKey) => client.invalidateQueries({ queryKey })));
  const stored = async () => (await platform.rpc("secrets.list", {})).secrets;

  /** Stores a key under a free name and returns the name. */
  const keep = async (provider: string, host: string, value: string) => {
    const name = freeSecretName(
      provider,
      (await stored()).map((secret) => secret.name),
    );
    await platform.rpc("secrets.set", { name, value, hosts: [host] });
    await invalidate();
    return name;
  };
  const forget = async (name: string) => {
    await platform.rpc("secrets.remove", { name });
    await invalidate();
  };
  /** Replaces the key, or adds the first. */
  const replace = async ({ name, baseUrl, keySecret }: KeyedProvider, value: string) => {
    const host = secretHost(baseUrl) ?? baseUrl;
    if (keySecret === null) {
      const secret = await keep(name, host, value);
      try {
        await patch({ providers: { [name]: { keySecret: secret } } });
      } catch (error) {
        // The secret is unused now. The original error matters more than a failed cleanup.
        await forget(secret).catch(() => undefined);
        throw error;
      }
      return;
    }
    const hosts = (await stored()).find((secret) => secret.name === keySecret)?.hosts ?? [];
    await platform.rpc("secrets.set", {
      name: keySecret,
      value,
      ...(!hosts.includes(host) && { hosts: [...hosts, host] }),
    });
    await invalidate();
  };
  /** Keeps a secret that another provider uses. */
  const remove = async ({ name, keySecret }: KeyedProvider, others: readonly (string | null)[]) => {
    await patch({ providers: { [name]: { keySecret: null } } });
    if (keySecret !== null && !others.includes(keySecret)) await forget(keySecret);
  };
  return { keep, forget, replace, remove };
}
