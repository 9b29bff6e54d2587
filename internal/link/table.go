package link

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/mlget/mlget/internal/term"
)

// meteredNote says what it means that a link is metered.
const meteredNote = `Data over metered links may cost money: --links auto leaves them out unless there is no other link,
--links all uses them, and --link NAME,metered=no says that one is free.
`

// WriteTable writes what each link can do as a table for people, and below it
// what is wrong with some, and the command that mends it.
func WriteTable(w io.Writer, infos []Info) error {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { fmt.Fprintln(t, strings.Join(cells, "\t")) } //nolint:errcheck // a bytes.Buffer
	head := []string{"LINK", "STATE", "TECH", "METERED", "ADDRESS", "DEFAULT", "BIND", "DNS"}
	phone := slices.ContainsFunc(infos, func(i Info) bool { return i.Android != nil })
	if phone {
		head = append(head, "NETID", "NEEDS")
	}
	row(head...)
	var down []string // phones have a score of interfaces that nothing uses
	shown := slices.DeleteFunc(slices.Clone(infos), func(i Info) bool {
		idle := phone && !i.Up && len(i.Addrs) == 0
		if idle {
			down = append(down, term.Printable(i.Name))
		}
		return idle
	})
	for _, i := range shown {
		cells := []string{
			term.Printable(i.Name), i.state(), dash(string(i.Tech)), dash(string(i.Metered)), i.addresses(), i.defaults(), dash(string(i.Bind)), i.dns(),
		}
		switch {
		case i.Android != nil:
			cells = append(cells, strconv.FormatUint(uint64(i.Android.NetID), 10), i.Android.Permission)
		case phone:
			cells = append(cells, "-", "-")
		}
		row(cells...)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	writeProblems(&b, shown)
	if len(down) > 0 {
		b.WriteString("\nDown: " + strings.Join(down, ", ") + "\n")
	}
	if slices.ContainsFunc(infos, func(i Info) bool { return i.Metered != MeteredNo }) {
		b.WriteString("\n" + meteredNote)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// writeProblems writes what is wrong with links: of those with the same problems once.
func writeProblems(b *bytes.Buffer, infos []Info) {
	var groups [][]Info
	for _, i := range infos {
		if i.leadsNowhere() || len(i.Problems) == 0 {
			continue // no command would make it serve, or need to
		}
		at := slices.IndexFunc(groups, func(g []Info) bool { return slices.EqualFunc(g[0].Problems, i.Problems, Problem.equal) })
		if at < 0 {
			groups = append(groups, []Info{i})
			continue
		}
		groups[at] = append(groups[at], i)
	}
	waysOf := make(map[string]string) // the links below which ways out stand already
	for _, g := range groups {
		b.WriteByte('\n')
		names := make([]string, 0, len(g))
		for _, i := range g {
			names = append(names, term.Printable(i.Name))
		}
		who := strings.Join(names, ", ")
		for _, p := range g[0].Problems {
			fmt.Fprintf(b, "%s: %s: %s\n", who, p.Severity.word(), p.What)
			if p.Fix != "" {
				fmt.Fprintf(b, "    %s\n", p.Fix)
			}
			ways := strings.Join(p.Ways, "\n    ")
			switch first, told := waysOf[ways]; {
			case ways == "":
			case told:
				fmt.Fprintf(b, "    as for %s\n", first)
			default:
				waysOf[ways] = who
				fmt.Fprintf(b, "    %s\n", ways)
			}
		}
	}
}

// equal says whether two problems are told in the same words.
func (p Problem) equal(other Problem) bool {
	return p.What == other.What && p.Severity == other.Severity && p.Fix == other.Fix && slices.Equal(p.Ways, other.Ways)
}

// word is the severity as shown to the user.
func (s Severity) word() string {
	if s == Fatal {
		return "unusable"
	}
	return string(s)
}

// leadsNowhere says whether a device cannot carry anything, whatever is done to it: dummies,
// queues (ifb), monitors.
func (i Info) leadsNowhere() bool { return i.Virtual == VirtualDummy && !i.Usable() }

func (i Info) state() string {
	switch {
	case i.leadsNowhere():
		return "unusable (" + string(i.Virtual) + ")"
	case !i.Up:
		return "down"
	case !i.Carrier:
		return "no carrier"
	case !i.Usable():
		return "unusable"
	case i.Virtual != VirtualNot:
		return "if named (" + string(i.Virtual) + ")"
	case i.worst(Warning) != nil:
		return "if named"
	}
	return "usable"
}

// addresses is the first one of each family that reaches beyond the link.
func (i Info) addresses() string {
	var four, six string
	more := 0
	for _, p := range i.Addrs {
		switch {
		case p.Addr().Is4() && four == "":
			four = p.String()
		case p.Addr().Is6() && six == "" && !p.Addr().IsLinkLocalUnicast():
			six = p.String()
		case !p.Addr().IsLinkLocalUnicast():
			more++
		}
	}
	list := strings.TrimSpace(four + " " + six)
	if i.Android != nil && i.Android.CLAT != "" {
		list = strings.TrimSpace(list + " " + i.Android.CLATAddr.String() + " by " + term.Printable(i.Android.CLAT))
	}
	if more > 0 {
		list += fmt.Sprintf(" +%d", more)
	}
	return dash(list)
}

func (i Info) defaults() string {
	switch {
	case i.Default4 && i.Default6:
		return "v4 v6"
	case i.Default4:
		return "v4"
	case i.Default6:
		return "v6"
	}
	return "-"
}

func (i Info) dns() string {
	if len(i.Resolvers) == 0 {
		return "-"
	}
	if i.Resolvers[0].Method == ResolverSystem {
		return string(ResolverSystem) // a note below the table says what that means
	}
	return i.Resolvers[0].String()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
