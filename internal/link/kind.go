package link

import "slices"

// kinds are the names that stand for every link of a technology.
func kinds(name string) []Tech {
	switch name {
	case "wifi":
		return []Tech{TechWiFi}
	case "cellular":
		return []Tech{TechLTE, TechNR, Tech3G}
	case "ethernet":
		return []Tech{TechEthernet}
	}
	return nil
}

// IsGroup says whether a name in a list of links can stand for several: Auto, All,
// or a kind of link (wifi, cellular, ethernet).
func IsGroup(name string) bool { return name == Auto || name == All || kinds(name) != nil }

// kindNames are the names that kinds knows, in the order in which they are shown.
func kindNames() [3]string { return [...]string{"wifi", "cellular", "ethernet"} }

// Kinds are the kinds of link among interfaces.
func Kinds(infos []Info) []string {
	var present []string
	for _, kind := range kindNames() {
		if slices.ContainsFunc(infos, func(i Info) bool { return i.Virtual == VirtualNot && slices.Contains(kinds(kind), i.Tech) }) {
			present = append(present, kind)
		}
	}
	return present
}

// SpecOf picks what the user said of an interface: by its name, or else by its
// kind. described is which of the two it was, "" if nothing was said.
func SpecOf(info Info, specs map[string]Spec) (spec Spec, described string) {
	if s, ok := specs[info.Name]; ok {
		return s, info.Name
	}
	for _, kind := range kindNames() {
		if s, ok := specs[kind]; ok && slices.Contains(kinds(kind), info.Tech) {
			s.Name = info.Name
			return s, kind
		}
	}
	return Spec{}, ""
}

// chooseKind picks every link of a kind that automatic choice would take, and
// says what is wrong with the others: aloud, if there is none at all.
func chooseKind(infos []Info, kind string, seen map[string]bool) (usable []Info, rejected []Rejected) {
	techs := kinds(kind)
	for _, info := range infos {
		named := seen[info.Name]
		if named || !slices.Contains(techs, info.Tech) || info.Virtual != VirtualNot {
			continue
		}
		if why, fix, ok := info.refusal(true); !ok {
			rejected = append(rejected, Rejected{Name: info.Name, Why: why, Fix: fix})
			continue
		}
		seen[info.Name] = true
		usable = append(usable, info)
	}
	switch {
	case len(usable) > 0:
	case len(rejected) == 0:
		rejected = []Rejected{{Name: kind, Why: "no such link", Fix: "mlget links", Named: true}}
	default:
		for i := range rejected {
			rejected[i].Named = true
		}
	}
	return usable, rejected
}
